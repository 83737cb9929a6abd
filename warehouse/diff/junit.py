"""What `diff` found as JUnit XML: a test case a task, which fails beyond the budget."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from warehouse.diff.result import Budget, Difference
from warehouse.diff.text import as_text, headline, title

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Signs that XML has no place for."""


def as_junit(found: Difference, shown: int, budget: Budget | None) -> str:
    """One testsuite. Rules are cases that pass, tasks that are not built are skipped, the text is in system-out."""
    beyond = {task.name for task in found.beyond(budget)} if budget else set()
    suite = ElementTree.Element(
        "testsuite",
        name=_fit(f"leadhouse diff {found.before} → {found.after}"),
        tests=str(len(found.rules) + len(found.tasks) + len(found.not_built)),
        failures=str(len(beyond)),
        errors="0",
        skipped=str(len(found.not_built)),
    )
    for rule in found.rules:
        case = _case(suite, rule.kind, rule.name)
        _say(case, "\n".join([title(rule), *(f"  {change}" for change in rule.changes)]))
    for task in found.tasks:
        case = _case(suite, "flips", task.name)
        if budget and task.name in beyond:
            words = f"{task.differing:,} of {task.comparison.instances:,} instances differ; allowed: {budget.text}"
            ElementTree.SubElement(case, "failure", message=words, type="labels").text = _fit(headline(task))
        else:
            _say(case, headline(task))
    for name in found.not_built:
        ElementTree.SubElement(_case(suite, "flips", name), "skipped", message="not built here")
    _say(suite, as_text(found, shown))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _case(suite: ElementTree.Element, kind: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"leadhouse.diff.{kind}", name=_fit(name))


def _say(element: ElementTree.Element, words: str) -> None:
    ElementTree.SubElement(element, "system-out").text = _fit(words)


def _fit(words: str) -> str:
    return _UNFIT.sub("?", words)
