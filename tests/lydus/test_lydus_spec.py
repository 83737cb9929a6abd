"""The specs of the two image tasks: every parameter of the published one, and the maps that the rules read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warehouse.maps import map_rows
from warehouse.spec import find_spec, lint, read_spec
from warehouse.task import CONTRACT

OURS = "lydus-ecg-image@0"
PTBXL = "cinc2024-ptbxl-image@0"


@pytest.fixture(scope="module")
def ours() -> dict:
    return find_spec(OURS).data


@pytest.fixture(scope="module")
def published(shared: Path) -> dict:
    return read_spec(shared / "specs" / f"{OURS}.json").data


def deviation(published: dict, part: str) -> str:
    (text,) = (text for text in published["deviations"] if text.startswith(f"{part}:"))
    return text


def numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]


def test_both_specs_are_clean():
    for name in (OURS, PTBXL):
        assert lint(find_spec(name)) == []


def test_ours_follows_the_published_digest(ours, published, shared):
    assert read_spec(shared / "specs" / f"{OURS}.json").digest == ours["follows"]["digest"] == "bce2a0d6ce91"
    assert find_spec(OURS).digest != ours["follows"]["digest"]


def test_classes_and_code_lists(ours, published):
    """The published spec lists the codes in the text of each class; CD and HYP by their number alone."""
    stated = published["label"]["classes"]
    assert sorted(ours["classes"]) == sorted(stated)
    for name in ("AFIB/AFL", "BRADY", "Old MI", "PAC", "PVC", "STTC", "TACHY"):
        codes = {int(code) for code in re.findall(r"\b\d{6,}\b", stated[name])}
        assert set(ours["label"]["codes"][name]) == codes, name
    assert len(ours["label"]["codes"]["CD"]) == int(re.search(r"(\d+) codes", stated["CD"])[1]) == 16
    assert len(ours["label"]["codes"]["HYP"]) == 5


def test_the_map_of_codes_is_that_of_the_spec(ours):
    for name in ours["classes"]:
        codes = [int(row["code"]) for row in map_rows("dx_code") if row["class"] == name]
        assert codes == ours["label"]["codes"].get(name, []), name


def test_acute_mi(ours, published):
    rule, text = ours["label"]["acute_mi"], published["label"]["classes"]["Acute MI"]
    listed = [row for row in map_rows("lydus_whole_line") if row["kind"] == "acute_mi"]
    assert [int(row["statement_no"]) for row in listed] == rule["statements"]
    for row in listed[:3]:
        assert f'{row["statement_no"]} "{row["text"]}"' in text
    regions = re.search(r"963-967 \"ST elevation, consider <([^>]*)>", text)[1].split(", ")
    assert [row["text"] for row in listed[3:]] == [
        f"ST elevation, consider {region} injury or acute infarct" for region in regions
    ]
    named = re.search(r"lists ([\d, ]+) and (\d+)-(\d+)", text)
    wanted = [*numbers(named[1].replace(",", " ")), *range(int(named[2]), int(named[3]) + 1)]
    assert rule["challenge_list"] == wanted
    assert f'"{rule["older_wording"]}"' in text
    (older,) = (row for row in map_rows("lydus_whole_line") if row["kind"] == "acute_mi_older")
    assert older["text"] == rule["older_wording"]


def test_norm_and_hedges(ours, published):
    assert re.findall(r'"([^"]*)"', published["label"]["classes"]["NORM"]) == ours["label"]["norm"]
    assert [row["text"] for row in map_rows("lydus_whole_line") if row["kind"] == "norm"] == ours["label"][
        "norm"
    ]
    hedges = [text.lower() for text in re.findall(r'"([^"]*)"', published["label"]["source"])]
    assert ours["label"]["hedges"] == hedges
    assert [row["phrase"] for row in map_rows("dx_hedge") if row["source"] == "seed"] == hedges


def test_counts_are_the_published_ones(ours, published):
    assert ours["counts"] == published["counts"]
    assert set(ours["counts"]["test"]) - {"groups", "records", "scored"} == set(ours["classes"])


def test_agreement_and_stated_numbers(ours, published):
    label_map, acute = deviation(published, "Label map"), deviation(published, "Acute MI")
    for name, value in ours["agreement"].items():
        assert f"{name} {value}" in label_map
    stated = ours["stated"]
    assert "all 50,000 records" in label_map
    assert stated["released_records"] == 50_000
    limits = " ".join(published["limitations"])
    named = re.search(r"\(([\d,]+) and ([\d,]+) records against ([\d,]+) and ([\d,]+)\)", limits)
    dx, column = stated["dx_records"], stated["column_records"]
    assert [dx["PAC"], dx["PVC"], column["APC"], column["VPC"]] == [
        numbers(text)[0] for text in named.groups()
    ]
    classes = deviation(published, "Classes")
    injury = stated["injury_statements_test"]
    assert (
        f"{injury['records']} records carry injury statements, {injury['without_mi_class']} of them"
        in classes
    )
    assert f"{stated['sttc_without_ptbxl_finding_test']} of the 683 STTC positives" in classes
    early = stated["early_repolarization_line"]
    assert f"({early['test']} test and {early['train']} training records)" in acute
    probable = stated["probably_acute_mi"]
    assert (
        f"({probable['release']} records of the release; {probable['test']} test, {probable['train']} training "
        f"and {probable['validation']} validation record in the build)" in acute
    )
    older = stated["older_wording_alone"]
    assert f"{older['test']} test, {older['train']} training and {older['validation']} validation" in acute
    assert f"0 of the build's {stated['groups']:,} groups" in deviation(published, "Split")
    assert f"all {stated['instances']:,} instances" in acute
    assert stated["groups"] == sum(ours["counts"][part]["groups"] for part in ("test", "train", "validation"))


def test_exclusions(ours, published):
    for rule, entry in ours["exclusions"].items():
        text = published["exclusions"][rule]
        records = {part: int(n) for part, n in re.findall(r"(train|validation|test) (\d+)", text)}
        if not records:  # "1 selected record (train)"
            records = {re.search(r"\((\w+)\)", text)[1]: numbers(text.split(":")[1])[0]}
        assert {part: n for part, n in entry["records"].items() if n} == records, rule


def test_split_and_sample(ours, published):
    theirs, mine = published["split"], ours["split"]
    assert (mine["by"], mine["sha256"]) == (theirs["by"], theirs["sha256"])
    sample = mine["sample"]
    assert f"default_rng([{sample['seed']}, k])" in theirs["sample"]
    streams = {part: int(k) for k, part in re.findall(r"(\d) (test|train|validation)\b", theirs["sample"])}
    for part, (size, whole) in {
        part: numbers(f"{a} {b}")
        for part, a, b in re.findall(r"(test|train|validation) ([\d,]+) of ([\d,]+)", theirs["sample"])
    }.items():
        assert (sample[part]["size"], mine["parts"][part], sample[part]["stream"]) == (
            size,
            whole,
            streams[part],
        )
    assert set(streams) == set(mine["parts"])


def test_instance_ids(ours, published):
    ids = published["leakage_checks"]["ids"]
    prefix = ours["instance_id"]["of"].replace("<record_id>", "")
    assert f'{ours["instance_id"]["hash"]}("{prefix}" + new_id)[:{ours["instance_id"]["digits"]}]' in ids


def test_images(ours, published):
    theirs, mine = published["input"], ours["input"]
    image = mine["image"]
    assert mine["render"]["settings"] == theirs["render"]["settings"]
    for words in (
        f"quality {image['quality']}, {image['width']} x {image['height']} pixels",
        f"{image['seconds_per_lead']} s per lead",
        f"{image['strip_seconds']}-second lead {image['rhythm_strip']} rhythm strip",
        f"{image['mm_per_s']} mm/s, {image['mm_per_mv']} mm/mV",
        f"at {image['dpi']} dpi",
        " | ".join(", ".join(column) for column in zip(*image["rows"], strict=True)),
    ):
        assert words in theirs["image"], words
    assert theirs["image"].startswith(f"one {image['stored_as']} per record")
    for name, formula in mine["leads"]["derived"].items():
        assert f"{name} = {formula}" in theirs["leads"]
    assert f"{mine['leads']['hz']} Hz, about {mine['leads']['uv_per_count']} uV per count" in theirs["leads"]
    render = mine["render"]
    assert (
        f'sha256("{render["seed_prefix"]}:" + instance_id) as a 31-bit integer'
        in theirs["render"]["per_record"]
    )
    assert theirs["render"]["per_record"].startswith(f"seed = {render['seed']}")
    gain = render["wfdb_gain"]
    assert f"{gain['uv_per_count']} uV per count" in theirs["render"]["wfdb_gain"]
    assert f"+-{gain['beyond_mv']} mV" in theirs["render"]["wfdb_gain"]
    assert f"at {gain['then_uv_per_count']} uV" in theirs["render"]["wfdb_gain"]
    assert "(5 train, 1 validation; no test record)" in theirs["render"]["wfdb_gain"]
    assert gain["records"] == {"train": 5, "validation": 1, "test": 0}


def test_metrics_prompt_and_protocol(ours, published):
    declared = dict(ours["metrics"])
    assert declared.pop("missing_row") == "no label"
    assert declared == published["metrics"]
    assert ours["metrics"]["primary"] == published["primary_metric"]
    assert (ours["kind"], ours["slug"], ours["version"]) == tuple(
        published[key] for key in ("kind", "slug", "version")
    )
    prompt = ours["prompt"]
    assert f"id {prompt['published_id']}; temperature {prompt['temperature']}, at most" in published["prompt"]
    assert f"at most {prompt['max_tokens']:,} tokens" in published["prompt"]
    assert prompt["parser"] in deviation(published, "Prompt and parser")
    prior = published["baselines"]["medbench/prior"]
    assert ours["baselines"]["prior"] == {key: prior[key] for key in ("output", "macro_f_measure", "ci")}
    protocol, theirs = ours["protocol"], published["protocol"]
    assert protocol["scorer"] == {"repository": theirs["repository"], "commit": theirs["commit"]}
    assert protocol["renderer"]["commit"] == theirs["renderer"]["commit"]
    assert protocol["renderer"]["repository"] == theirs["renderer"]["repository"]
    rules = protocol["label_rules"]
    assert f"{rules['repository']} @ {rules['commit']}" in theirs["label_rules"]
    assert rules["table"] in theirs["label_rules"]
    made = {part.lower().replace(" ", "_") for part in theirs["medbench_made"]}
    assert {part for part, whose in protocol["parts"].items() if whose == "ours"} == made | {"data"}


def test_the_words_are_ours(ours, published):
    own = {
        *(each["text"] for each in ours["deviations"]),
        *ours["label"]["classes"].values(),
        ours["title"],
        ours["prediction"],
    }
    theirs = {
        *published["deviations"],
        *published["label"]["classes"].values(),
        published["title"],
        published["prediction"],
    }
    assert own & theirs == set()


def test_ptbxl_has_the_challenges_rules():
    data = find_spec(PTBXL).data
    superclasses = {row["class"]: row["diagnostic_class"] for row in map_rows("ptbxl_superclass")}
    assert superclasses == data["label"]["superclasses"]
    codes: dict[str, list[str]] = {}
    for row in map_rows("ptbxl_code"):
        codes.setdefault(row["class"], []).append(row["code"])
    assert codes == data["label"]["codes"]
    acute = data["label"]["acute_mi"]
    rows = map_rows("ptbxl_acute_statement")
    assert [int(row["statement_no"]) for row in rows] == acute["challenge_list"]
    assert [int(row["statement_no"]) for row in rows if row["acronym"]] == acute["statements"]
    assert {*superclasses, *codes, "Acute MI"} == set(data["classes"]) == set(find_spec(OURS).classes)


def test_acronyms_of_the_acute_list_are_those_of_the_table(shared: Path):
    import csv

    reference = shared / "data" / "reference" / "12slv23ToSNOMED.csv"
    with reference.open(encoding="utf-8-sig") as file:
        table = {
            row["StatementNumber"]: row["Acronym"] for row in csv.DictReader(file) if row["StatementNumber"]
        }
    for row in map_rows("ptbxl_acute_statement"):
        assert table.get(row["statement_no"], "") == row["acronym"]


def test_forbidden_columns_are_in_neither_task_view():
    """What an image or a prompt must never carry: no column of a task view has such a name."""
    from sql_cases import table_columns

    for name in (OURS, PTBXL):
        spec = find_spec(name)
        columns = {column for column, _ in table_columns()[spec.view]}
        assert columns & set(spec.data["input"]["never"]) == set()
        own = {"flat"} if name == OURS else {"acute_mi_rule"}
        assert columns - set(spec.classes) == {*CONTRACT, *own}
