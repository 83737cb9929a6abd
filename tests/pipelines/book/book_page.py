"""A page of the book as a test reads it: numbers with the cell they show, and text that carries none."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}
EXEMPT_TAGS = {"code", "pre", "script", "style", "title", "desc", "h1"}
EXEMPT_CLASSES = {"said", "drawn", "kicker", "skip"}
"""Names, code, what the registry or a header says in its own words, and drawings: none of them is a count of ours."""


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def classes(self) -> set[str]:
        return set(self.get("class").split())


class BookPage(HTMLParser):
    """``numbers`` are elements that show a cell, ``tables`` those that show whole rows, ``queries`` id → SQL,
    ``bare`` texts with a digit that say of no query."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[Element] = []
        self.elements: list[Element] = []
        self.faults: list[str] = []
        self.bare: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{each.tag}> never closed" for each in self.open]

    def handle_starttag(self, tag: str, attrs: list) -> None:
        element = Element(tag, dict(attrs))
        if len(element.attributes) != len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        if self.open:
            self.open[-1].children.append(element)
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1].tag != tag:
            self.faults.append(f"</{tag}> where <{self.open[-1].tag if self.open else '-'}> is open")
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data
        if not re.search(r"(?<![\w@.-])\d", data) or not any(each.tag == "main" for each in self.open):
            return
        exempt = any(
            each.tag in EXEMPT_TAGS or each.classes & EXEMPT_CLASSES or "data-sql" in each.attributes
            for each in self.open
        )
        if not exempt:
            self.bare.append(data.strip())

    def all(self, tag: str) -> list[Element]:
        return [each for each in self.elements if each.tag == tag]

    @property
    def numbers(self) -> list[Element]:
        return [each for each in self.elements if "data-sql" in each.attributes and each.tag != "table"]

    @property
    def tables(self) -> list[Element]:
        return [each for each in self.all("table") if "data-sql" in each.attributes]

    @property
    def queries(self) -> dict[str, str]:
        return {
            each.get("id"): each.children[-1].text for each in self.all("details") if "sql" in each.classes
        }
