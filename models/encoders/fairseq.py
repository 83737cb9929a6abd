"""Reading the configuration that a fairseq checkpoint brings, whatever it was pickled as."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum
from typing import Any

from models.encoders.card import EncoderError

ABSENT = object()


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
        made = (
            _value(ast.parse(declared.strip(), mode="eval").body) if isinstance(declared, str) else declared
        )
        return [tuple(int(each) for each in layer) for layer in made]
    except (SyntaxError, TypeError, ValueError, RecursionError) as error:
        raise EncoderError(
            f"conv_feature_layers: found {str(declared)[:80]!r}; expected a list of (outputs, kernel, stride), as "
            '"[(256, 2, 2)] * 4"'
        ) from error


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
