"""What whoever reads a task's numbers must know, as sentences: where its parts are from, what leaks, who is a group."""

from __future__ import annotations

from warehouse.home import Home
from warehouse.spec import Spec
from warehouse.splits import split_note

GROUP_FROM = "group_from"
"""The task column that says where an instance's group is from, in tasks that have it."""
ALONE = "record"
"""Its value where no source names the patient."""


def caveats(home: Home, spec: Spec, alone: int = 0, of: int = 0) -> list[str]:
    """The split's origin, the leak that the spec declares, and that ``alone`` of ``of`` instances are of records whose
    patient no source names."""
    leak = spec.data.get("known_leak")
    said = [
        split_note(home, spec),
        f"known leak: the same {leak} has instances in several parts, as the spec declares" if leak else None,
        f"{alone:,} of {of:,} instances are of records whose patient no source names: each record is a group of its own"
        if alone
        else None,
    ]
    return [sentence for sentence in said if sentence]
