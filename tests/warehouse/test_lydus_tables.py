"""`load lydus`: the metadata in every format, encoding and layout, and what is wrong with it by its code."""

from __future__ import annotations

import gzip
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lydus_files import LINES, csv_text, refused, row, table_of, write_table

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load import lydus
from warehouse.load.report import read_report

ROWS = [
    row("a"),
    row("b", conclusion="정상 심전도", dx="Atrial fibrillation\nAbnormal ECG"),
    row("c", sex="F"),
]


@pytest.fixture
def home(tmp_path) -> Home:
    """A home that holds a good release, so that a refused one could spoil it."""
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "good", ROWS))
    return home


def lines_of(home: Home) -> list[tuple[str, int, str]]:
    text = {each["text_id"]: each["text"] for each in table_of(home, "dx_text")}
    return [(each["record_id"], each["line_no"], text[each["text_id"]]) for each in table_of(home, "dx_line")]


EXPECTED_LINES = [
    *(("a", number, line) for number, line in enumerate(LINES, start=1)),
    ("b", 1, "Atrial fibrillation"),
    ("b", 2, "Abnormal ECG"),
    *(("c", number, line) for number, line in enumerate(LINES, start=1)),
]


def is_loaded(home: Home) -> bool:
    records = table_of(home, "record")
    assert [each["record_id"] for each in records] == ["a", "b", "c"]
    assert records[1]["conclusion"] == "정상 심전도"
    assert records[2]["sex"] == "F"
    assert [each["row_no"] for each in records] == [2, 3, 4]
    assert (records[0]["vrate"], records[0]["raxis"], records[0]["taxis"]) == (72, -30, 0)
    assert records[0]["bbb"] is None
    assert lines_of(home) == EXPECTED_LINES
    return True


@pytest.mark.parametrize(
    ("name", "pack"),
    [("ecg.csv", bytes), ("ecg.csv.gz", gzip.compress), ("ecg.csv.xz", lzma.compress)],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
def test_text_formats_and_encodings(tmp_path, name, pack, encoding):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / name).write_bytes(pack(csv_text(ROWS).encode(encoding)))
    home = Home(tmp_path / "data")
    report = lydus.load(home, tmp_path / "source")
    assert is_loaded(home)
    assert report.sources[0]["encoding"] == encoding
    assert any("CP949" in note for note in report.notes) == (encoding == "cp949")


def test_tsv(tmp_path):
    (tmp_path / "ecg.tsv").write_text(csv_text(ROWS, "\t"), encoding="utf-8")
    home = Home(tmp_path / "data")
    lydus.load(home, tmp_path / "ecg.tsv")
    assert is_loaded(home)


def test_workbook(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(list(ROWS[0]))
    for each in ROWS:
        book.active.append([value if value != "" else None for value in each.values()])
    book.save(tmp_path / "ecg.xlsx")
    home = Home(tmp_path / "data")
    lydus.load(home, tmp_path / "ecg.xlsx")
    assert is_loaded(home)


def test_numbers_as_ids_in_a_workbook_stay_whole(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    for each in (["new_id", "dx"], [1001, "x\ny"], [1002.0, "x_x000D_\ny"]):
        book.active.append(each)
    book.save(tmp_path / "ecg.xlsx")
    home = Home(tmp_path / "data")
    lydus.load(home, tmp_path / "ecg.xlsx")
    assert lines_of(home) == [("1001", 1, "x"), ("1001", 2, "y"), ("1002", 1, "x"), ("1002", 2, "y")]


def test_parquet_with_a_list_column(tmp_path):
    columns = {name: [each[name] if each[name] != "" else None for each in ROWS] for name in ROWS[0]}
    columns["dx"] = [str(cell).split("\n") for cell in columns["dx"]]
    pq.write_table(pa.table(columns), tmp_path / "ecg.parquet")
    home = Home(tmp_path / "data")
    report = lydus.load(home, tmp_path / "ecg.parquet")
    assert is_loaded(home)
    assert "dx lines: parted by list column" in report.notes


@pytest.mark.parametrize(
    ("mark", "name"),
    [("\n", "newline"), ("\r\n", "newline"), ("\r", "newline"), ("\\n", "literal-newline"), ("|", "pipe")],
)
def test_separator_is_found_once_and_recorded(tmp_path, mark, name):
    rows = [each | {"dx": str(each["dx"]).replace("\n", mark)} for each in ROWS]
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", rows))
    assert lines_of(home) == EXPECTED_LINES
    assert f"dx lines: parted by {name}" in read_report(home, "lydus")["notes"]


def test_semicolons_and_commas_part_nothing(tmp_path):
    lines = (
        "Demand pacemaker; interpretation is based on intrinsic rhythm",
        "Septal infarct, age undetermined",
    )
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", [row("a", dx="\n".join(lines))]))
    assert [line for _, _, line in lines_of(home)] == list(lines)


def test_a_second_separator_inside_lines_is_reported(tmp_path):
    rows = [row("a"), row("b"), row("c", dx="one | two\nthree")]
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", rows))
    assert lines_of(home)[-2:] == [("c", 1, "one | two"), ("c", 2, "three")]
    assert [(each["what"], each["count"]) for each in report.oddities] == [
        ("dx cell that holds a pipe too", 1)
    ]


def test_separator_given_overrides(tmp_path):
    rows = [row("a", dx="one|two\nthree|four")]
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", rows), dx_separator="pipe")
    assert [line for _, _, line in lines_of(home)] == ["one", "two\nthree", "four"]


def test_unknown_separator(home, tmp_path):
    with pytest.raises(UsageError, match="found dx separator ';'; expected one of newline"):
        lydus.load(home, tmp_path / "good", dx_separator=";")


def test_blank_lines_go_and_numbers_stay_dense(tmp_path):
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", [row("a", dx="\n one \n\n two\n")]))
    assert lines_of(home) == [("a", 1, "one"), ("a", 2, "two")]


def test_texts_are_distinct_after_nfkc_and_counted(tmp_path):
    rows = [row("a", dx="ＳＴ elevation\nb"), row("b", dx="ST elevation\nb")]
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", rows))
    assert table_of(home, "dx_text") == [
        {"text_id": 0, "text": "ST elevation", "lines": 2},
        {"text_id": 1, "text": "b", "lines": 2},
    ]


def test_text_ids_do_not_depend_on_the_order_of_rows(tmp_path):
    tables = []
    for name, rows in (("one", ROWS), ("two", ROWS[::-1])):
        home = Home(tmp_path / name)
        lydus.load(home, write_table(tmp_path / f"source-{name}", rows))
        tables.append(table_of(home, "dx_text"))
    assert tables[0] == tables[1]


def test_table_of_lines_beside_the_table_of_records(tmp_path):
    records = [{name: each[name] for name in each if name != "dx"} for each in ROWS]
    write_table(tmp_path / "source", records)
    numbered = [
        {"new_id": each["new_id"], "line_no": number, "dx_line": line}
        for each in ROWS[::-1]
        for number, line in reversed(list(enumerate(str(each["dx"]).split("\n"), start=1)))
    ]
    write_table(tmp_path / "source", numbered, "lines.csv")
    home = Home(tmp_path / "data")
    lydus.load(home, tmp_path / "source")
    assert is_loaded(home)
    assert {each["source_file"] for each in table_of(home, "dx_line")} == {"lines.csv"}


def test_table_of_lines_alone(tmp_path):
    numbered = [{"id": "x", "line_no": 1, "dx": "one"}, {"id": "x", "line_no": 2, "dx": "two"}]
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", numbered))
    assert lines_of(home) == [("x", 1, "one"), ("x", 2, "two")]
    assert [each["record_id"] for each in table_of(home, "record")] == ["x"]


def test_table_of_lines_with_a_stranger_and_a_line_twice(home, tmp_path):
    numbered = [
        {"new_id": "a", "line_no": 1, "dx_line": "one"},
        {"new_id": "a", "line_no": 1, "dx_line": "two"},
        {"new_id": "z", "line_no": 1, "dx_line": "three"},
    ]
    write_table(tmp_path / "source", [{"new_id": "a", "rhythm": "NSR"}])
    write_table(tmp_path / "source", numbered, "lines.csv")
    refused(
        home,
        tmp_path / "source",
        "E08 lines.csv, row 4: found record 'z'",
        "E02 lines.csv, row 3: found line 1",
    )


def test_column_names_in_other_spellings(tmp_path):
    rows = [{"New ID": "a", "Premature_Beat": "VPC", "AV-Block": "1AVB", "Diagnosis": "one\ntwo", "HID": "p"}]
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", rows))
    record = table_of(home, "record")[0]
    assert (record["record_id"], record["patient_id"], record["premature_beat"], record["avb"]) == (
        "a",
        "p",
        "VPC",
        "1AVB",
    )


def test_columns_that_are_missing_or_not_loaded_are_said(tmp_path):
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", [{"id": "a", "dx": "one\ntwo", "dt": "2015"}]))
    notes = "\n".join(report.notes)
    assert "columns that are not there: rhythm, premature_beat" in notes
    assert "columns that are not loaded: dt" in notes
    assert table_of(home, "record")[0]["qtc"] is None


def test_manifest_names_what_cannot_be_found(tmp_path):
    source = write_table(
        tmp_path / "source", [{"ECG number": "a", "Text": "one/two|three", "x": 1}], "deep.csv"
    )
    write_table(source, [row("b")], "other.csv")
    (source / "lydus.toml").write_text(
        'metadata = "deep.csv"\nencoding = "utf-8"\ndx_separator = "pipe"\n'
        '[columns]\nrecord_id = "ECG number"\ndx = "Text"\n',
        encoding="utf-8",
    )
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert lines_of(home) == [("a", 1, "one/two"), ("a", 2, "three")]
    lydus.load(home, source / "lydus.toml")
    assert lines_of(home) == [("a", 1, "one/two"), ("a", 2, "three")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metadata = [", "expected TOML"),
        ('table = "ecg.csv"', "found table = 'ecg.csv'"),
        ("metadata = 3", "found metadata = 3"),
        ('metadata = "nowhere.csv"', "which is not there"),
        ('[columns]\nname = "x"', "found role 'name'"),
        ('encoding = "latin-1"', "found encoding 'latin-1'"),
    ],
)
def test_bad_manifest(home, tmp_path, text, words):
    (tmp_path / "good" / "lydus.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"lydus\.toml|found encoding") as caught:
        lydus.load(home, tmp_path / "good")
    assert words in str(caught.value)


def test_nothing_there(home, tmp_path):
    with pytest.raises(UsageError, match="found nothing; expected the folder of a LYDUS release"):
        lydus.load(home, tmp_path / "nowhere")


def test_two_tables_of_records(home, tmp_path):
    write_table(tmp_path / "good", ROWS, "again.csv")
    with pytest.raises(UsageError, match=r"again\.csv, ecg\.csv") as caught:
        lydus.load(home, tmp_path / "good")
    assert "lydus.toml" in str(caught.value)


def test_e01_no_table_with_the_roles(home, tmp_path):
    source = write_table(tmp_path / "source", [{"number": "a", "text": "one"}])
    refused(
        home, source, "E01 ecg.csv, row 1: found columns number, text", "a record_id (new_id,", "a dx (dx,"
    )


def test_e01_without_dx(home, tmp_path):
    write_table(tmp_path / "source", [{"new_id": "a", "rhythm": "NSR"}])
    refused(home, tmp_path / "source" / "ecg.csv", "E01 ecg.csv, row 1", "expected a dx (dx,")


def test_e01_empty_folder(home, tmp_path):
    (tmp_path / "source").mkdir()
    refused(home, tmp_path / "source", "E01", "found no table")


def test_e02_id_twice_or_empty(home, tmp_path):
    source = write_table(tmp_path / "source", [row("a"), row("b"), row("a "), row("")])
    error = refused(home, source, "E02 ecg.csv, row 4: found record 'a' again; expected once (row 2)")
    assert "E02 ecg.csv, row 5: found an empty record id" in str(error)
    assert len(error.problems) == 2


def test_e03_neither_utf8_nor_cp949(home, tmp_path):
    write_table(tmp_path / "source", ROWS)
    path = tmp_path / "source" / "ecg.csv"
    data = path.read_bytes()
    place = data.index(b"Abnormal")
    path.write_bytes(data[:place] + b"\xff" + data[place:])
    line = data[:place].count(b"\n") + 1
    refused(
        home,
        tmp_path / "source",
        f"E03 ecg.csv, row line {line}",
        f"byte 0xff at offset {place}",
        "lydus.toml",
    )


def test_e03_names_the_offset_beyond_the_first_piece(home, tmp_path):
    rows = [row(str(number), conclusion="x" * 500) for number in range(3000)]
    write_table(tmp_path / "source", rows)
    path = tmp_path / "source" / "ecg.csv"
    data = bytearray(path.read_bytes())
    place = len(data) - 400
    assert place > 1 << 20
    data[place] = 0xFF
    path.write_bytes(bytes(data))
    refused(home, tmp_path / "source", "E03 ecg.csv", f"byte 0xff at offset {place:,}")


def test_e03_a_character_across_two_pieces_is_no_fault(tmp_path):
    head = csv_text([row("a")])
    rest = csv_text([row("b", conclusion="한" * 400_000)]).split("\n", 1)[1]
    for shift in range(3):
        source = tmp_path / f"source-{shift}"
        source.mkdir()
        (source / "ecg.csv").write_bytes((head + "b" * shift + rest).encode())
        home = Home(tmp_path / f"data-{shift}")
        lydus.load(home, source)
        assert len(table_of(home, "record")[1]["conclusion"]) == 400_000


def test_e03_utf16(home, tmp_path):
    source = write_table(tmp_path / "source", ROWS, encoding="utf-16")
    refused(home, source / "ecg.csv", "E03 ecg.csv, row 1: found UTF-16 text")


def test_e03_asked_encoding_is_the_only_one_tried(home, tmp_path):
    source = write_table(tmp_path / "source", ROWS, encoding="cp949")
    (source / "lydus.toml").write_text('encoding = "utf-8"', encoding="utf-8")
    refused(home, source, "E03 ecg.csv", "which is not utf-8", "expected utf-8 text")


def test_e04_replacement_character_in_dx(home, tmp_path):
    source = write_table(tmp_path / "source", [row("a"), row("b", dx="Sinus\nrhyth\ufffd")])
    refused(home, source, "E04 ecg.csv, row 3: found U+FFFD in dx")


@pytest.mark.parametrize("separator", ["/", "; ", " - "])
def test_e11_separator_not_found(home, tmp_path, separator):
    source = write_table(
        tmp_path / "source", [row("a", dx=separator.join(LINES)), row("b", dx=separator.join(LINES))]
    )
    refused(
        home, source, "E11 ecg.csv: found 1 lines in the median record (separator: none)", "--dx-separator"
    )


def test_e11_one_line_a_record_can_be_asked_for(tmp_path):
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", [row("a", dx="one")]), dx_separator="none")
    assert lines_of(home) == [("a", 1, "one")]


def test_e11_a_line_too_long(home, tmp_path):
    source = write_table(tmp_path / "source", [row("a"), row("b", dx="short\n" + "long " * 61)])
    refused(home, source, "E11 ecg.csv, row 3: found a line of 304 characters")


def test_e12_only_in_the_release_profile(home, tmp_path):
    refused(home, tmp_path / "good", "E12 ecg.csv: found 3 records; expected 50,000", profile="release")
    with pytest.raises(UsageError, match="found profile 'real'; expected one of any, release"):
        lydus.load(home, tmp_path / "good", profile="real")


@pytest.mark.parametrize("age", ["-1", "121", "old", "1e2"])
def test_e13_age(home, tmp_path, age):
    refused(
        home,
        write_table(tmp_path / "source", [row("a"), row("b", age=age)]),
        f"E13 ecg.csv, row 3: found age '{age}'",
    )


def test_e13_sex(home, tmp_path):
    refused(
        home,
        write_table(tmp_path / "source", [row("a", sex="X"), row("b")]),
        "E13 ecg.csv, row 2: found sex 'X'",
    )


def test_e13_accepts_what_the_contract_lists(tmp_path):
    sexes, ages = ["M", "F", "0", "1", "male", "Female", ""], ["0", "120", "72.0", "", "1", "2", "3"]
    rows = [row(str(n), sex=sex, age=age) for n, (sex, age) in enumerate(zip(sexes, ages, strict=True))]
    home = Home(tmp_path / "data")
    lydus.load(home, write_table(tmp_path / "source", rows))
    records = table_of(home, "record")
    assert [each["sex"] for each in records] == [*sexes[:-1], None]
    assert [each["age"] for each in records] == [*ages[:3], None, *ages[4:]]


def test_w15_records_without_an_analysis(tmp_path):
    rows = [
        row("a"),
        row("b", dx=""),
        row("c", dx="**  No QRS complexes found, no ECG analysis possible **."),
        row("d"),
    ]
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", rows))
    (odd,) = [each for each in report.oddities if each["what"].startswith("W15")]
    assert (odd["count"], odd["where"]) == (2, ["b", "c"])
    assert [each["record_id"] for each in table_of(home, "record")] == ["a", "b", "c", "d"]


def test_w16_sentinels_become_null_and_are_counted(tmp_path):
    values = ["72", "-1", "0", "29999", "32767", "65535", "", "71.5"]
    rows = [row(str(n), vrate=value, raxis=value) for n, value in enumerate(values)]
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", rows))
    records = table_of(home, "record")
    assert [each["vrate"] for each in records] == [72, None, None, None, None, None, None, 72]
    assert [each["raxis"] for each in records] == [72, -1, 0, None, None, None, None, 72]
    odd = {each["what"].split(":")[0]: each for each in report.oddities}
    assert {name: each["count"] for name, each in odd.items()} == {"W16 vrate": 5, "W16 raxis": 3}
    assert odd["W16 vrate"]["where"] == ["1", "2", "3", "4", "5"]


def test_w16_what_is_no_number(tmp_path):
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", [row("a", qtc="none"), row("b")]))
    assert [each["qtc"] for each in table_of(home, "record")] == [None, 417]
    assert [(each["what"], each["count"]) for each in report.oddities] == [
        ("W16 qtc: value that is no number (none × 1)", 1)
    ]


def test_all_faults_are_said_at_once(home, tmp_path):
    source = write_table(
        tmp_path / "source", [row("a", age="200"), row("a", sex="?"), row("c", dx="\ufffd\nx")]
    )
    error = refused(home, source)
    assert sorted(problem.where.split()[0] for problem in error.problems) == ["E02", "E04", "E13", "E13"]


@pytest.mark.parametrize("keep", [0.4, 0.97])
@pytest.mark.parametrize(("name", "pack"), [("ecg.csv.gz", gzip.compress), ("ecg.csv.xz", lzma.compress)])
def test_a_packed_file_that_breaks_off(home, tmp_path, name, pack, keep):
    (tmp_path / "source").mkdir()
    data = pack(csv_text(ROWS).encode())
    (tmp_path / "source" / name).write_bytes(data[: int(len(data) * keep)])
    refused(home, tmp_path / "source" / name, name, "breaks off", "copy the file again")


def test_a_row_with_too_few_fields(home, tmp_path):
    text = csv_text(ROWS) + "d,NSR\n"
    (tmp_path / "ecg.csv").write_text(text, encoding="utf-8")
    refused(home, tmp_path / "ecg.csv", "ecg.csv, row 5: found 2 fields; expected 19")


def test_a_quote_that_never_closes(home, tmp_path):
    (tmp_path / "ecg.csv").write_text(csv_text(ROWS) + 'd,"NSR,x\n', encoding="utf-8")
    refused(home, tmp_path / "ecg.csv", "ecg.csv")


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "an empty file"), (b"new_id,dx\n", "no rows"), (b"\n\n", "without column names")],
)
def test_nothing_in_the_file(home, tmp_path, data, words):
    (tmp_path / "ecg.csv").write_bytes(data)
    refused(home, tmp_path / "ecg.csv", words)


def test_a_column_twice(home, tmp_path):
    (tmp_path / "ecg.csv").write_text("new_id,dx,dx\na,one,two\n", encoding="utf-8")
    refused(home, tmp_path / "ecg.csv", "found column 'dx' twice")


@pytest.mark.parametrize("name", ["ecg.parquet", "ecg.xlsx"])
def test_no_such_format_inside(home, tmp_path, name):
    (tmp_path / name).write_bytes(b"PAR1 or PK, this is neither")
    refused(home, tmp_path / name, name, "copy the file again")


def test_a_suffix_that_is_not_known(home, tmp_path):
    (tmp_path / "ecg.json").write_text("{}")
    with pytest.raises(UsageError, match=r"expected a file in \.csv"):
        lydus.load(home, tmp_path / "ecg.json")


def test_loading_twice_writes_identical_tables(tmp_path):
    source = write_table(tmp_path / "source", ROWS)
    homes = [Home(tmp_path / name) for name in ("one", "two")]
    for each in homes:
        lydus.load(each, source)
    digests = [read_report(each, "lydus")["tables"] for each in homes]
    assert digests[0] == digests[1]
    assert set(digests[0]) == {"record", "dx_line", "dx_text", "split", "signal", "signal_fact"}


def test_pandas_is_not_imported(tmp_path):
    import subprocess
    import sys

    source = write_table(tmp_path / "source", ROWS)
    code = (
        "import sys; from pathlib import Path; from warehouse.home import Home; from warehouse.load import lydus;"
        f"lydus.load(Home(Path({str(tmp_path / 'data')!r})), Path({str(source)!r})); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
