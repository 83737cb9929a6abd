"""Reading the configuration that a fairseq checkpoint brings, whatever it was pickled as."""

from __future__ import annotations

import ast
import reprlib
from collections.abc import Mapping
from enum import Enum
from typing import Any

from models.encoders.card import EncoderError

ABSENT = object()
LONGEST = 1000
"""Characters of a text that is parsed, and entries of a list that is compared."""


class _Short(reprlib.Repr):
    """Plain values, cut off; of anything else the name of its type, since its text may have no end."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxstring = 2, 10, 10, 80

    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, int) and x.bit_length() > 200:
            return f"an integer of {x.bit_length()} bits"
        if x is None or isinstance(x, (bool, int, float)):
            return repr(x)
        if isinstance(x, str):
            return self.repr_str(x, level)
        if isinstance(x, list):
            return self.repr_list(x, level)
        if isinstance(x, tuple):
            return self.repr_tuple(x, level)
        return f"a {type(x).__name__}"


said = _Short().repr
"""A value of a configuration as a message shows it: short, whatever it is."""


def agrees(found: Any, expected: Any) -> bool:
    """Whether a value is the plain one that is expected, or a flat list of those; a boolean is no number, and a list
    may stand for a tuple. What is neither is not even compared."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, (list, tuple))
            and len(found) == len(expected) <= LONGEST
            and all(map(agrees, found, expected))
        )
    if expected is None or not isinstance(found, (bool, int, float, str)):
        return found is expected
    return isinstance(found, bool) == isinstance(expected, bool) and found == expected


def look(holder: Any, name: str) -> Any:
    """``holder[name]`` or ``holder.name``, whichever there is, as a plain value; ABSENT when neither is.

    ``holder``: a mapping, a namespace, an omegaconf container, or what an unpickler left of one.
    """
    for inside in (holder, _attribute(holder, "_content")):
        if isinstance(inside, Mapping):
            found = inside.get(name, ABSENT)
        elif inside is ABSENT or inside is None:
            found = ABSENT
        else:
            found = _attribute(inside, name)
            if found is ABSENT:
                found = _item(inside, name)
        if found is not ABSENT:
            return _plain(found)
    return ABSENT


def model_section(config: Any) -> Any:
    """The part of a configuration that describes the model: ``cfg.model``, or fairseq's old flat ``args``.

    ``config`` may be the checkpoint's ``cfg``, its ``args``, or what holds one of both. Nothing is in a None.
    """
    for name in ("cfg", "args"):
        inside = look(config, name)
        if inside is not ABSENT and inside is not None:
            config = inside
            break
    model = look(config, "model")
    return config if model is ABSENT or model is None or isinstance(model, str) else model


def conv_layers(declared: Any) -> list[tuple[int, ...]]:
    """fairseq's ``conv_feature_layers``, ``"[(256, 2, 2)] * 4"``, as (outputs, kernel, stride) of each layer.

    fairseq evaluates that text; here only lists, tuples, integers, ``+`` and ``*`` are read. EncoderError for more.
    """
    try:
        made = declared
        if isinstance(declared, str):
            if len(declared) > LONGEST:
                raise ValueError("too long")
            made = _value(ast.parse(declared.strip(), mode="eval").body)
        if not isinstance(made, (list, tuple)) or len(made) > LONGEST:
            raise TypeError("no list of layers")
        return [_layer(each) for each in made]
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise EncoderError(
            f"conv_feature_layers: found {said(declared)}; expected a list of (outputs, kernel, stride), as "
            '"[(256, 2, 2)] * 4"'
        ) from error


def _layer(declared: Any) -> tuple[int, ...]:
    if not isinstance(declared, (list, tuple)) or len(declared) > 10:
        raise TypeError("no layer")
    if not all(type(each) is int for each in declared):
        raise TypeError("no whole numbers")
    return tuple(declared)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.List):
        return [_value(each) for each in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(each) for each in node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _value(node.left) + _value(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _value(node.left), _value(node.right)
        if isinstance(left, int) and isinstance(right, list):
            left, right = right, left
        if isinstance(left, list) and isinstance(right, int) and len(left) * right <= 100:
            return left * right
    raise ValueError(ast.dump(node)[:80])


def _attribute(holder: Any, name: str) -> Any:
    """Never what a class defines, a method of that name for example; only what the object itself carries."""
    try:
        carried = vars(holder)
    except TypeError:
        return ABSENT
    return carried.get(name, ABSENT)


def _item(holder: Any, name: str) -> Any:
    try:
        return holder[name]
    except Exception:  # whatever an object of an unknown class does; it then has no such item
        return ABSENT


def _plain(value: Any) -> Any:
    """Omegaconf's nodes and enumerations as the value in them."""
    if isinstance(value, Enum):
        return value.value
    inside = _attribute(value, "_val")
    return value if inside is ABSENT else _plain(inside)
