"""`verify BUNDLE`: whatever is changed in an archive is found, and nothing in it can do harm."""

from __future__ import annotations

import hashlib
import io
import json
import random
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from releases import small_release

import cli
from pipelines.bundle.archive import TIME, write_archive
from pipelines.bundle.check import render_bundle, verify_bundle
from pipelines.bundle.stage import as_json, bundle
from warehouse.errors import HomeError, InputError, UsageError
from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import load
from warehouse.spec import specs

LYDUS, VITALDB = "lydus-ecg-image@0", "vitaldb-arrhythmia-abnormal@0"
Members = dict[str, bytes]


@pytest.fixture(scope="module")
def lydus(lydus_home, tmp_path_factory) -> Path:
    return bundle(lydus_home, LYDUS, tmp_path_factory.mktemp("lydus")).file


@pytest.fixture(scope="module")
def vitaldb(synthetic_home, tmp_path_factory) -> Path:
    return bundle(synthetic_home, VITALDB, tmp_path_factory.mktemp("vitaldb")).file


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path, monkeypatch):
    """Whatever is unpacked lies in one temporary folder, and is gone afterwards."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    before = sorted(tmp_path.parent.iterdir())
    yield
    assert list(place.iterdir()) == []
    assert sorted(tmp_path.parent.iterdir()) == before


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(path: Path, found: Members, *, index: bool = True) -> Path:
    """The members as an archive; ``index``: with the digests of what they are now."""
    if index:
        said = json.loads(found["index.json"])
        said["members"] = {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "what": "?"}
            for name, content in found.items()
            if name != "index.json"
        }
        found = {**found, "index.json": as_json(said)}
    write_archive(path, found)
    return path


def edited(name: str, change: Callable[[object], None]) -> Callable[[Members], None]:
    """A change of a JSON member."""

    def apply(found: Members) -> None:
        value = json.loads(found[name])
        change(value)
        found[name] = as_json(value)

    return apply


def replaced(name: str, old: str, new: str) -> Callable[[Members], None]:
    def apply(found: Members) -> None:
        assert old.encode() in found[name]
        found[name] = found[name].replace(old.encode(), new.encode(), 1)

    return apply


def flipped(found: Members) -> None:
    """Labels of one instance are the other way round."""
    labels = pl.read_parquet(io.BytesIO(found["labels.parquet"]))
    first = labels.filter(pl.col("scored") & pl.col("left_out").is_null())["instance_id"][0]
    turned = pl.when(pl.col("instance_id") == first).then(~pl.col("PVC")).otherwise(pl.col("PVC"))
    text = io.BytesIO()
    labels.with_columns(turned.alias("PVC")).write_parquet(text)
    found["labels.parquet"] = text.getvalue()


def vouched(found: Members) -> None:
    """The manifest names the labels that are there."""
    digest = hashlib.sha256(found["labels.parquet"]).hexdigest()
    edited("manifest.json", lambda it: it["views"]["task.lydus_ecg_image_v0"].update(sha256=digest))(found)


def recounted(found: Members) -> None:
    """The counts are those of the labels that are there."""
    labels = pl.read_parquet(io.BytesIO(found["labels.parquet"])).filter(pl.col("left_out").is_null())

    def change(counts: dict) -> None:
        for part, row in counts["parts"].items():
            row["classes"]["PVC"] = labels.filter(pl.col("part") == part)["PVC"].sum()

    edited("counts.json", change)(found)


def test_every_task_has_a_bundle_that_holds(
    lydus_home, synthetic_home, heartbeat_home, lydus, vitaldb, tmp_path
):
    archives = [(lydus, lydus_home), (vitaldb, synthetic_home)]
    for spec in specs():
        if spec.slug.startswith("ecg-heartbeat"):
            archives.append((bundle(heartbeat_home, spec.name, tmp_path).file, heartbeat_home))
    assert len(archives) == len(specs()) - 1, "all but PTB-XL, which has no made-up release"
    for file, home in archives:
        result = verify_bundle(file, home)
        assert result["ok"], (file, result["broken"])
        assert any(link["name"] == "rows of labels.parquet" for link in result["links"])
        assert "every link holds" in render_bundle(result)
        assert result["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_real_records_too(ptbxl_home, tmp_path):
    result = verify_bundle(bundle(ptbxl_home, "cinc2024-ptbxl-image@0", tmp_path).file, ptbxl_home)
    assert result["ok"], result["broken"]


@pytest.mark.parametrize(
    ("changes", "link"),
    [
        ([replaced("README.md", "Licence", "License")], "README.md"),
        ([lambda found: found.pop("counts.json")], "counts.json"),
        ([lambda found: found.update({"extra.txt": b"hello"})], "members that no bundle has"),
    ],
    ids=["changed", "missing", "extra"],
)
def test_a_member_that_is_not_the_index_s(lydus, tmp_path, changes, link):
    found = members(lydus)
    for change in changes:
        change(found)
    result = verify_bundle(packed(tmp_path / "x.zip", found, index=False))
    assert result["broken"].startswith(f"{link}: found")
    assert not [each for each in result["links"] if each["name"].startswith("rule")], "nothing after it"


@pytest.mark.parametrize(
    ("changes", "link"),
    [
        ([lambda found: found.update({"extra.txt": b"hello"})], "members that no bundle has"),
        ([lambda found: found.update({"sql/lydus/deep/x.sql": b"SELECT 1"})], "members that no bundle has"),
        ([lambda found: found.pop("labels.parquet")], "members of every bundle"),
        ([lambda found: found.pop("spec.json")], "members of every bundle"),
        ([replaced("sql/lydus/exclusion_v0.sql", "'no_analysis'", "'nothing'")], "rule lydus.exclusion_v0"),
        ([replaced("maps/dx_hedge.csv", "possible", "impossible")], "map.dx_hedge"),
        ([replaced("splits/lydus.json", "20261030", "20261031")], "split.lydus"),
        ([lambda found: found.pop("sql/lydus/exclusion_v0.sql")], "rules"),
        ([lambda found: found.pop("maps/dx_hedge.csv")], "maps"),
        ([lambda found: found.pop("splits/lydus.csv")], "membership"),
        ([edited("spec.json", lambda it: it["classes"].reverse())], "spec.json (digest)"),
        ([edited("spec.json", lambda it: it.update(version=7))], "spec.json (task)"),
        ([replaced("sql/lydus/exclusion_v0.sql", "SELECT", "COPY")], "rules"),
        ([edited("manifest.json", lambda it: it.pop("views"))], "contents"),
        ([lambda found: found.update({"manifest.json": b"{"})], "rules"),
        ([lambda found: found.update({"manifest.json": b"[" * 50_000})], "rules"),
        ([lambda found: found.update({"counts.json": b"7"})], "contents"),
        (
            [edited("counts.json", lambda it: it["parts"]["test"].update(scored=1))],
            "counts of test",
        ),
        ([edited("counts.json", lambda it: it["parts"].pop("train"))], "counts of train"),
        ([flipped], "labels.parquet (sha256)"),
        ([flipped, vouched], "counts of train"),
        ([lambda found: found.update({"labels.parquet": b"PAR1"}), vouched], "contents"),
    ],
)
def test_a_change_with_an_index_to_match(lydus, tmp_path, changes, link):
    found = members(lydus)
    for change in changes:
        change(found)
    result = verify_bundle(packed(tmp_path / "x.zip", found))
    assert not result["ok"]
    assert result["broken"].startswith(f"{link}: found"), result["broken"]


def forged(path: Path, found: Members) -> dict:
    """The verdict on members whose fingerprints all say what the changed SQL is."""
    for _ in range(40):
        result = verify_bundle(packed(path, found))
        link = next((each for each in result["links"] if not each["ok"]), {"name": ""})
        if not link["name"].startswith(("rule ", "manifest ")):
            return result
        sides = (link["found"], link["expected"])
        new, old = sides if link["name"].startswith("rule ") else reversed(sides)
        for name in ("manifest.json", "index.json", "citation.json"):
            found[name] = found[name].replace(old.encode(), new.encode())
    raise AssertionError(link)


def test_a_released_rule_that_was_changed_everywhere_meets_its_lock(vitaldb, tmp_path):
    """SQL, manifest and index agree with each other; this installation's lock does not."""
    found = members(vitaldb)
    replaced("sql/vitaldb/normal_context_v0.sql", "45 AS normal_context_s", "30 AS normal_context_s")(found)
    assert forged(tmp_path / "x.zip", found)["broken"].startswith("lock vitaldb.normal_context_v0: found")


def test_a_membership_that_the_declaration_fixes_needs_no_data(vitaldb, tmp_path):
    found = members(vitaldb)
    replaced("splits/vitaldb.csv", "1,train", "1,test")(found)
    assert verify_bundle(packed(tmp_path / "x.zip", found))["broken"].startswith(
        "splits/vitaldb.csv (declared sha256)"
    )


def test_labels_that_were_changed_everywhere_are_found_on_the_data(lydus, lydus_home, tmp_path):
    found = members(lydus)
    for change in (flipped, vouched, recounted):
        change(found)
    file = packed(tmp_path / "x.zip", found)
    assert verify_bundle(file)["ok"], "no archive can say of itself that all of it was exchanged"
    result = verify_bundle(file, lydus_home)
    assert result["broken"].startswith(
        "rows of labels.parquet: found 1 rows that labels.parquet has not (first "
    )


def test_another_membership_is_found_on_the_data(lydus, lydus_home, tmp_path):
    found = members(lydus)
    replaced("splits/lydus.csv", ",train,", ",test,")(found)
    file = packed(tmp_path / "x.zip", found)
    assert verify_bundle(file)["ok"]
    assert verify_bundle(file, lydus_home)["broken"].startswith("splits/lydus.csv: found another membership")


def test_other_data_gives_other_rows(vitaldb, tmp_path):
    home = Home(tmp_path / "data")
    load(home, small_release(tmp_path / "release", seed=5))
    result = verify_bundle(vitaldb, home)
    assert result["broken"].startswith("rows of ")
    assert any("other files than the bundle was built from" in note for note in result["notes"])


def test_a_home_without_the_data_says_so(lydus, synthetic_home):
    with pytest.raises(HomeError, match=r"found nothing loaded for raw_lydus\.dx_line"):
        verify_bundle(lydus, synthetic_home)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT content AS record_id, NULL AS rule FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_blob('http://localhost:9/x')",
        "SELECT getenv('HOME') AS record_id",
    ],
)
def test_sql_of_an_archive_reads_nothing_but_the_raw_tables(lydus, lydus_home, tmp_path, query):
    """All digests are made to match: what is left is what the database lets it do."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    found = members(lydus)
    header = found["sql/lydus/exclusion_v0.sql"].decode().split("\n\n")[0].split("\nSELECT")[0]
    lines = [line for line in header.splitlines() if line.startswith("--")]
    body = "\n".join(lines) + "\n\n" + query.format(secret=secret) + "\n"
    found["sql/lydus/exclusion_v0.sql"] = body.encode()
    file = tmp_path / "x.zip"
    result = forged(file, found)
    assert result["ok"], result["broken"]
    result = verify_bundle(file, lydus_home)
    assert result["broken"].startswith("rows of lydus.exclusion_v0: found DuckDB refuses it: "), result[
        "broken"
    ]


def raw_zip(path: Path, entries: list[tuple[zipfile.ZipInfo, bytes]], **options: object) -> Path:
    with zipfile.ZipFile(path, "w", **options) as file:
        for entry, content in entries:
            file.writestr(entry, content)
    return path


def plain(name: str, **fields: object) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, TIME)
    entry.create_system, entry.external_attr = 3, 0o100644 << 16
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


@pytest.mark.parametrize(
    "name",
    [
        "../evil.sql",
        "/etc/evil",
        "sql/../../evil",
        "a\\..\\b",
        "C:evil",
        "sql//x",
        "x/",
        ".hidden",
        "café",
        "a b",
        "-x",
    ],
)
def test_a_name_that_leaves_the_folder(lydus, tmp_path, name):
    entries = [(plain(name), b"evil")] + [(plain(each), body) for each, body in members(lydus).items()]
    file = raw_zip(tmp_path / "x.zip", sorted(entries, key=lambda entry: entry[0].filename))
    with pytest.raises(InputError, match="a member with the name") as caught:
        verify_bundle(file)
    assert "Nothing was unpacked" in str(caught.value)


def test_a_bomb_is_refused_before_it_unfolds(tmp_path):
    file = raw_zip(
        tmp_path / "x.zip", [(plain("spec.json", compress_type=zipfile.ZIP_DEFLATED), bytes(50_000_000))]
    )
    assert file.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"spec\.json, which is compressed \(50,000,000 bytes from"):
        verify_bundle(file)


def test_members_that_share_their_bytes(tmp_path):
    """Every entry of the directory means the same stored bytes."""
    file = raw_zip(tmp_path / "x.zip", [(plain(f"m{n}"), bytes(1000) if n == 0 else b"") for n in range(3)])
    content = bytearray(file.read_bytes())
    (start,) = struct.unpack_from("<I", content, len(content) - 6)
    place = start
    for _ in range(3):
        struct.pack_into("<I", content, place + 42, 0)
        struct.pack_into("<II", content, place + 20, 1000, 1000)
        place += 46 + 2
    file.write_bytes(content)
    with pytest.raises(InputError, match="where its members need"):
        verify_bundle(file)


def test_a_member_twice_a_link_and_an_order_of_its_own(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        file = raw_zip(tmp_path / "x.zip", [(plain("a"), b"1"), (plain("a"), b"2")])
    with pytest.raises(InputError, match="found a 2 times"):
        verify_bundle(file)
    link = plain("a", external_attr=0o120777 << 16)
    with pytest.raises(InputError, match="permissions of its own"):
        verify_bundle(raw_zip(tmp_path / "x.zip", [(link, b"/etc/passwd")]))
    with pytest.raises(InputError, match="not in the order of their names"):
        verify_bundle(raw_zip(tmp_path / "x.zip", [(plain("b"), b"1"), (plain("a"), b"2")]))


def test_bytes_beside_the_members(lydus, tmp_path):
    content = lydus.read_bytes()
    for other in (b"#!/bin/sh\n" + content, content + b"x"):
        (tmp_path / "x.zip").write_bytes(other)
        with pytest.raises(InputError, match=r"where its members need|no whole zip archive"):
            verify_bundle(tmp_path / "x.zip")


def test_an_archive_that_was_cut_short_or_is_none(lydus, tmp_path):
    content = lydus.read_bytes()
    file = tmp_path / "x.zip"
    for size in (0, 1, 21, 100, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        with pytest.raises(InputError, match=r"no whole zip archive|where its members need"):
            verify_bundle(file)
    file.write_bytes(b"a text\n" * 1000)
    with pytest.raises(InputError, match="no whole zip archive"):
        verify_bundle(file)
    with pytest.raises(UsageError, match="found no file"):
        verify_bundle(tmp_path)
    with pytest.raises(UsageError, match="found no file"):
        verify_bundle(tmp_path / "none.zip")


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (None, "found no index.json"),
        (b"", "expected a bundle"),
        (b"[]", "expected a bundle"),
        (b"\xff\xfe", "expected a bundle"),
        (b"{}", "found schema None"),
        (b'{"schema": "leadhouse/bundle/2"}', "found schema 'leadhouse/bundle/2'"),
        (b'{"schema": "leadhouse/bundle/1"}', "found no task, view"),
    ],
)
def test_an_archive_without_an_index_of_ours(tmp_path, index, words):
    entries = [(plain("README.md"), b"hello")] if index is None else [(plain("index.json"), index)]
    with pytest.raises(InputError) as caught:
        verify_bundle(raw_zip(tmp_path / "x.zip", entries))
    assert words in str(caught.value)


def test_any_byte_that_is_turned_is_found_or_is_no_member_s(lydus, tmp_path):
    content, true = lydus.read_bytes(), members(lydus)
    file = tmp_path / "x.zip"
    found = 0
    numbers = random.Random(20261130)
    for _ in range(150):
        spoilt = bytearray(content)
        spoilt[numbers.randrange(len(content))] ^= 1 << numbers.randrange(8)
        file.write_bytes(spoilt)
        try:
            ok = verify_bundle(file)["ok"]
        except InputError:
            ok = False
        found += not ok
        assert not ok or members(file) == true
    assert found > 140


def test_on_the_command_line(lydus, lydus_home, tmp_path):
    def run(*args: object):
        return CliRunner().invoke(cli.main, list(map(str, args)), catch_exceptions=False)

    made = run("bundle", LYDUS, tmp_path, "--data", lydus_home.path, "--json")
    assert made.exit_code == 0
    assert json.loads(made.stdout)["sha256"] == hashlib.sha256(lydus.read_bytes()).hexdigest()
    file = tmp_path / "lydus-ecg-image-v0.zip"
    alone = run("verify", file)
    assert alone.exit_code == 0
    assert "rows: not computed again" in alone.stdout
    whole = run("verify", file, "--data", lydus_home.path, "--json")
    assert whole.exit_code == 0
    assert json.loads(whole.stdout)["ok"]
    assert run("verify", file, "--data", tmp_path / "none").exit_code == 2
    found = members(file)
    replaced("maps/dx_hedge.csv", "possible", "impossible")(found)
    packed(file, found)
    broken = run("verify", file)
    assert broken.exit_code == 1
    assert "first broken link: map.dx_hedge: found" in broken.stdout
    assert "the first broken link is map.dx_hedge" in broken.stderr
    file.write_bytes(b"no archive")
    rejected = run("verify", file)
    assert (rejected.exit_code, "Traceback" in rejected.stderr) == (1, False)
    assert run("verify", tmp_path / "none.zip").exit_code == 2
