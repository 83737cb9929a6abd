"""Task specs: the digest rule, ours against the published one, and what the linter of specs catches."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from pipelines.kind import bootstrap_plan
from warehouse.errors import RegistryError, UsageError
from warehouse.project import registry_path
from warehouse.spec import Spec, find_spec, lint, read_spec, spec_digest, specs
from warehouse.views import Catalog

OURS = "vitaldb-arrhythmia-abnormal@0"
PUBLISHED = {"lydus-ecg-image@0": "bce2a0d6ce91", "vitaldb-arrhythmia-abnormal@0": "bd4a0b735b2c"}
PROSE = {
    "title": "our own words",
    "preview": "how it is shown",
    "deviations": "our own words; the linter holds their parts",
    "input.loader": "our own words",
    "split.scope": "our own words",
    "metrics.by_category": "our own words",
    "protocol.task": "our own words",
    "protocol.source": "our own words",
    "protocol.annotations.release": "our own words",
    "protocol.annotations.repository": "the data set's card names sources",
    "protocol.bad_signal_quality_precedent.commit": "another group's script, which is not ours to pin",
    "protocol.bad_signal_quality_precedent.file": "the same",
    "protocol.bad_signal_quality_precedent.repository": "the same",
}
"""Parts of the published spec that are no parameters, or that stand elsewhere: path → why."""
ELSEWHERE = {
    "primary_metric": lambda ours: ours["metrics"]["primary"],
    "protocol.annotations.commit": lambda ours: specified_commit(ours["dataset"]),
}
"""Parameters that our layout keeps in another place."""


def specified_commit(dataset: str) -> str:
    card = json.loads(registry_path("datasets", f"{dataset}.json").read_text(encoding="utf-8"))
    return next(release["commit"] for release in card["releases"] if release["is_specified"])


def leaves(data: object, path: str = "") -> dict[str, object]:
    """Every leaf by its path; a list is a leaf."""
    if not isinstance(data, dict):
        return {path: data}
    found = {}
    for key, value in data.items():
        found |= leaves(value, f"{path}.{key}" if path else key)
    return found


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_have_their_digests(shared: Path, name: str):
    assert read_spec(shared / "specs" / f"{name}.json").digest == PUBLISHED[name]


def test_digest_leaves_out_how_a_spec_is_shown_and_nothing_else():
    data = {
        "slug": "a",
        "version": 0,
        "n": 45,
        "title": "x",
        "preview": True,
        "visibility": "public",
        "é": [1, 2],
    }
    digest = spec_digest(data)
    assert spec_digest(dict(reversed(data.items()))) == digest
    for key in ("title", "preview", "visibility"):
        assert spec_digest({**data, key: "other"}) == digest
        assert spec_digest({name: value for name, value in data.items() if name != key}) == digest
    for changed in ({**data, "n": 44}, {**data, "é": [2, 1]}, {**data, "slug": "b"}, {**data, "more": None}):
        assert spec_digest(changed) != digest


def test_every_parameter_of_ours_is_the_published_one(shared: Path):
    ours = find_spec(OURS).data
    own, published = leaves(ours), leaves(read_spec(shared / "specs" / f"{OURS}.json").data)
    assert set(PROSE) <= set(published), "a part that the published spec does not have"
    compared = {path: value for path, value in published.items() if path not in PROSE}
    assert len(compared) == 28
    found = {path: ELSEWHERE[path](ours) if path in ELSEWHERE else own.get(path) for path in compared}
    assert found == compared


def test_what_only_ours_has_is_no_parameter_of_a_label(shared: Path):
    own = leaves(find_spec(OURS).data)
    published = leaves(read_spec(shared / "specs" / f"{OURS}.json").data)
    extra = {path for path in own if path not in published and not path.startswith("protocol.")}
    assert extra == {"follows.digest", "follows.relation", "classes", "split.name", "metrics.missing_row"}


def test_ours_follows_the_published_digest_and_has_its_own():
    spec = find_spec(OURS)
    assert spec.published_digest == PUBLISHED[OURS]
    assert spec.digest != spec.published_digest


def test_our_words_are_not_the_published_ones(shared: Path):
    published = read_spec(shared / "specs" / f"{OURS}.json").data
    own = find_spec(OURS).data
    texts = {deviation["text"] for deviation in own["deviations"]} | {own["title"], own["split"]["scope"]}
    assert texts & {*published["deviations"], published["title"], published["split"]["scope"]} == set()


def test_every_spec_of_ours_is_clean():
    assert [spec.name for spec in specs()]
    assert {spec.name: faults for spec in specs() if (faults := lint(spec))} == {}


def test_every_spec_has_its_view_and_class_columns():
    from sql_cases import table_columns

    for spec in specs():
        assert spec.view in Catalog.read()
        assert set(spec.classes) <= {column for column, _ in table_columns()[spec.view]}


def test_deviations_name_tests_and_views_that_exist():
    import re

    root = registry_path().parent
    catalog = Catalog.read()
    for spec in specs():
        for deviation in spec.data["deviations"]:
            for path in re.findall(r"tests/[\w/]+(?:\.py)?", deviation["checked"]):
                assert (root / path).exists(), f"{deviation['part']}: {path}"
            for name in re.findall(r"\b(?:vitaldb|task)\.\w+_v\d+", deviation["checked"]):
                assert name in catalog, f"{deviation['part']}: {name}"


def drop(*path: str):
    def change(data: dict) -> None:
        for part in path[:-1]:
            data = data[part]
        del data[path[-1]]

    return change


def put(value: object, *path: object):
    def change(data: dict) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = value

    return change


FAULTS = [
    *(
        (drop(key), f"{key}: missing")
        for key in ("kind", "dataset", "classes", "label", "metrics", "split", "protocol")
    ),
    (drop("deviations"), "deviations: missing"),
    (put(1, "version"), "file name: found"),
    (put("VitalDB Arrhythmia", "slug"), "slug: found"),
    (put("ternary", "kind"), "kind: found 'ternary'"),
    (put(["auroc"], "metrics", "primary"), "metrics.primary: expected one metric's name"),
    (put(["auroc", "f1"], "metrics", "secondary"), "metrics.secondary: names the primary metric again"),
    (drop("metrics", "bootstrap", "n"), "metrics.bootstrap: expected by and n"),
    (put([0.7, 0.1, 0.1], "split", "fractions"), "split.fractions: found a sum of"),
    (drop("split", "seed"), "split.seed: missing"),
    (put("in one sentence", "deviations", 0), "deviations[0]: expected part, text and checked"),
    (drop("deviations", 2, "checked"), "deviations[2]: expected part, text and checked"),
    (put(" ", "deviations", 1, "checked"), "deviations[1].checked: empty"),
    (drop("deviations", 0), "protocol.parts.split: ours, but no deviation says how it was checked"),
    (put("ours", "protocol", "parts", "input"), "protocol.parts.input: ours"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_the_linter_catches_each_fault(change, message):
    good = find_spec(OURS)
    data = copy.deepcopy(dict(good.data))
    change(data)
    path = (
        good.path
        if message.startswith("file name")
        else good.path.with_name(f"{data['slug']}@{data['version']}.json")
    )
    found = lint(Spec(str(data["slug"]), int(data["version"]), data, path))
    assert any(fault.startswith(message) for fault in found), found


def test_what_is_no_spec_is_refused(tmp_path):
    for name, text in (
        ("a@0.json", "{"),
        ("b@0.json", '{"version": 0}'),
        ("c@0.json", '{"slug": "c", "version": "x"}'),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RegistryError, match="expected a JSON task spec"):
            read_spec(path)


def test_a_task_that_is_not_there_lists_those_that_are():
    with pytest.raises(UsageError, match=OURS):
        find_spec("vitaldb-arrhythmia-abnormal@9")
    assert find_spec("vitaldb-arrhythmia-abnormal").name == OURS


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.name)
def test_every_task_can_be_scored_with_intervals(spec):
    plan = bootstrap_plan(spec.data)
    assert plan["n"] > 0
    assert isinstance(plan["seed"], int)
