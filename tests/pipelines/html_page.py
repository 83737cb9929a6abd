"""A page as a test reads it: elements, text, tables, and what is not well formed."""

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, text by element, and what is not well formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[dict] = []
        self.elements: list[dict] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{each['tag']}> never closed" for each in self.open]

    def handle_starttag(self, tag: str, attrs: list) -> None:
        names = [name for name, _ in attrs]
        self.faults += [f"<{tag}> has {name} twice" for name, n in Counter(names).items() if n > 1]
        element = {"tag": tag, "text": "", "children": [], **dict(attrs)}
        if self.open:
            self.open[-1]["children"].append(element)
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1]["tag"] != tag:
            self.faults.append(f"</{tag}> where <{self.open[-1]['tag'] if self.open else '-'}> is open")
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element["text"] += data

    def all(self, tag: str, **attributes: str) -> list[dict]:
        return [
            each
            for each in self.elements
            if each["tag"] == tag and all(each.get(k.replace("_", "-")) == v for k, v in attributes.items())
        ]


def table_of(page: Page, label: str) -> dict[str, dict[str, str]]:
    """The table in the region of that name: row → column → text."""
    (region,) = page.all("div", aria_label=label)
    (table,) = (each for each in region["children"] if each["tag"] == "table")
    head, body = table["children"]
    columns = [cell["text"].strip() for cell in head["children"][0]["children"]]
    rows = {}
    for row in body["children"]:
        cells = [cell["text"].strip() for cell in row["children"]]
        rows[cells[0]] = dict(zip(columns, cells, strict=True))
    return rows
