"""`load` meets bad input: it says file and row, exits as documented, and costs nothing that was there."""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path

import duckdb
import pytest
from releases import annotation_file, copy_of, edit, small_release

from warehouse.errors import InputError, UsageError
from warehouse.home import Home
from warehouse.load.report import read_report
from warehouse.load.vitaldb_arrhythmia import DATASET, load


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return small_release(tmp_path_factory.mktemp("release"))


@pytest.fixture
def loaded(release, tmp_path) -> Home:
    """A home that holds the good release."""
    home = Home(tmp_path / "data")
    load(home, release)
    return home


def rejected(home: Home, source: Path, *expected: str, **options) -> InputError:
    """Load must refuse with all of these words, and leave the home as it was."""
    before = snapshot(home)
    with pytest.raises(InputError) as caught:
        load(home, source, **options)
    for text in expected:
        assert text in str(caught.value)
    assert caught.value.exit_code == 1
    assert snapshot(home) == before
    return caught.value


def snapshot(home: Home) -> dict[str, bytes]:
    folder = home.raw / DATASET
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def notes(home: Home) -> list[str]:
    return read_report(home, DATASET)["notes"]


def clinical(home: Home) -> list[tuple]:
    return duckdb.sql(f"FROM read_parquet('{home.raw / DATASET}/clinical/*.parquet')").fetchall()


def test_no_folder_is_wrong_usage(loaded, tmp_path):
    with pytest.raises(UsageError, match="found nothing; expected the folder of a release"):
        load(loaded, tmp_path / "nowhere")


def test_a_file_is_no_folder(loaded, release):
    with pytest.raises(UsageError, match="found a file"):
        load(loaded, release / "metadata.csv")


def test_wrong_folder(loaded, tmp_path):
    (tmp_path / "photos").mkdir()
    rejected(loaded, tmp_path / "photos", "no Annotation_file_<case>.csv at any depth")


def test_no_metadata(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    (source / "metadata.csv").unlink()
    rejected(loaded, source, "metadata.csv: none", "exactly one")


def test_two_metadata(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    shutil.copy(source / "metadata.csv", source / "annotations" / "metadata.csv")
    rejected(loaded, source, "annotations/metadata.csv", "exactly one")


@pytest.mark.parametrize("keep", [0.3, 0.5, 0.9, 0.999])
def test_half_copied_file(loaded, release, tmp_path, keep):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    rejected(loaded, source, path.name)


def test_file_cut_between_two_rows(loaded, release, tmp_path):
    """Every row that is left is good: only metadata.csv tells."""
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    edit(path, lambda lines: [*lines[:-4], ""])
    error = rejected(loaded, source, path.name, "total_beats of metadata.csv", "analysis_end_time_sec")
    assert {problem.where for problem in error.problems} == {path.name}


def test_empty_file(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    path.write_bytes(b"")
    rejected(loaded, source, f"{path.name}, row 1: found header ''")


def test_header_without_rows(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    edit(path, lambda lines: [lines[0], ""])
    rejected(loaded, source, path.name, "found no rows")


def test_unknown_layout(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    edit(path, lambda lines: ["time,beat,rhythm,flag,marker", *lines[1:]])
    rejected(
        loaded, source, f"{path.name}, row 1: found header 'time,beat,rhythm,flag,marker'", "time_second,"
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("time_second,beat_type\n".encode("utf-16"), "UTF-16"),
        ("time_second,beat_type\n1.0,정상\n".encode("cp949"), "which is not UTF-8"),
    ],
)
def test_another_encoding(loaded, release, tmp_path, data, words):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    path.write_bytes(data)
    rejected(loaded, source, path.name, words)


def test_another_encoding_names_the_row(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    lines = path.read_bytes().split(b"\n")
    lines[6] = lines[6].replace(b",N,", b",\xc1\xa4,", 1)
    path.write_bytes(b"\n".join(lines))
    rejected(loaded, source, f"{path.name}, row 7: found byte 0xc1")


def test_a_case_twice(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    (source / "more").mkdir()
    shutil.copy(path, source / "more" / path.name)
    rejected(loaded, source, f"more/{path.name}", "again", "one file a case")


def replaced(column: int, value: str, row: int = 5):
    """Line `row` of the file with another value in a column."""

    def change(lines: list[str]) -> list[str]:
        fields = lines[row - 1].split(",")
        fields[column] = value
        return [*lines[: row - 1], ",".join(fields), *lines[row:]]

    return change


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (0, "12,5", "6 fields"),
        (0, "soon", "time 'soon'"),
        (0, "", "time ''"),
        (0, "nan", "time 'nan'"),
        (0, "inf", "time 'inf'"),
        (0, "-3", "time '-3'"),
        (0, "1e10", "time '1e10'; expected a number of seconds from 0 to 10000000"),
        (0, "1e20", "time '1e20'"),
        (0, "1_2.0", "time '1_2.0'"),
        (0, "٢.0", "time '٢.0'"),
        (0, "12\r.5", "a carriage return that ends no line"),
        (4, "Start99999999999999", "bad_signal_quality_label 'Start99999999999999'"),
        (4, "Start٢", "bad_signal_quality_label 'Start٢'"),
        (0, "0.5", "rows in the order of time"),
        (1, "Q", "beat type 'Q'"),
        (2, "Bigeminy", "rhythm 'Bigeminy'"),
        (2, "n", "rhythm 'n'"),
        (3, "yes", "bad_signal_quality 'yes'"),
        (3, "", "bad_signal_quality ''"),
        (4, "Begin1", "bad_signal_quality_label 'Begin1'"),
        (4, "Start", "bad_signal_quality_label 'Start'"),
    ],
)
def test_a_bad_field_is_named_with_its_row(loaded, release, tmp_path, column, value, words):
    source = copy_of(release, tmp_path)
    path = annotation_file(source, "time_second,beat_type,rhythm_label,bad_signal_quality,bad")
    edit(path, replaced(column, value))
    error = rejected(loaded, source, f"{path.name}, row 5: found", words)
    assert len(error.problems) == 1


def test_the_next_step_speaks_of_a_new_rhythm_only_where_one_was_unknown(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    good = path.read_bytes()
    edit(path, replaced(3, "yes"))
    assert rejected(loaded, source).next_step == "copy the files again, whole, or mend the rows"
    path.write_bytes(good[: len(good) // 2])
    assert "rhythm" not in rejected(loaded, source).next_step
    path.write_bytes(good)
    edit(path, replaced(2, "Bigeminy"))
    step = rejected(loaded, source).next_step
    assert step == "a new rhythm name belongs into registry/maps/vitaldb_rhythm.csv"


def test_lines_that_end_in_a_carriage_return_alone(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    good = path.read_bytes()
    path.write_bytes(good.replace(b"\n", b"\r"))
    error = rejected(loaded, source, f"{path.name}, row 1: found a carriage return that ends no line")
    assert len(str(error)) < 500
    path.write_bytes(good.replace(b"\n", b"\r").replace(b"\r", b"\n", 3))
    rejected(loaded, source, f"{path.name}, row 4: found a carriage return")


def test_tables_whose_lines_end_in_a_carriage_return_alone_are_read_or_named(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    for path in (source / "metadata.csv", source / "clinical_data.csv"):
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    load(loaded, source)
    assert read_report(loaded, DATASET)["tables"]["metadata"]["rows"] == 12
    assert read_report(loaded, DATASET)["tables"]["clinical"]["rows"] > 0


def test_an_annotation_file_that_cannot_be_read(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    path.unlink()
    path.symlink_to(tmp_path / "nowhere.csv")
    rejected(loaded, source, f"{path.name}: found a file that cannot be read (No such file")


def test_a_byte_order_mark_before_a_row(loaded, release, tmp_path, monkeypatch):
    """In every file, whichever of them Arrow begins with."""
    for path in sorted((release / "annotations").glob("*.csv"))[:2]:
        source = copy_of(release, tmp_path / path.stem)
        file = source / "annotations" / path.name
        file.write_bytes(file.read_bytes().replace(b"\n", b"\n\xef\xbb\xbf", 1))
        rejected(loaded, source, f"{path.name}, row 2: found")
        monkeypatch.setattr("warehouse.load.annotation_csv.BATCH", 1)


@pytest.mark.parametrize("name", ["metadata.csv", "clinical_data.csv", "annotations"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(loaded, release, tmp_path, name):
    source = copy_of(release, tmp_path)
    path = annotation_file(source) if name == "annotations" else source / name
    path.unlink()
    os.mkfifo(path)
    if name == "clinical_data.csv":
        load(loaded, source)
        assert any("clinical_data.csv" in note and "no subjects" in note for note in notes(loaded))
    else:
        rejected(loaded, source, path.name, "no regular file", "a readable file")


def test_a_file_that_is_far_too_large_is_not_read(loaded, release, tmp_path, monkeypatch):
    monkeypatch.setattr("warehouse.load.folder.LARGEST", 100)
    rejected(loaded, release, "metadata.csv", "bytes, more than 100")
    monkeypatch.setattr("warehouse.load.metadata_csv.bytes_of", Path.read_bytes)
    rejected(loaded, release, "annotation files rejected", "bytes, more than 100")


def test_a_table_cut_inside_quotes(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    table = source / "metadata.csv"
    text = table.read_text()
    table.write_text(text.rstrip("\n")[:-1] + '"N, SR')
    rejected(loaded, source, "metadata.csv, row", "half copied")


def test_a_table_whose_last_line_has_no_end_is_noted(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    for name in ("metadata.csv", "clinical_data.csv"):
        (source / name).write_bytes((source / name).read_bytes().rstrip(b"\r\n"))
    load(loaded, source)
    odd = [entry for entry in read_report(loaded, DATASET)["oddities"] if "has no end" in entry["what"]]
    assert [entry["where"] for entry in odd] == [["metadata.csv"], ["clinical_data.csv"]]


def test_a_subjects_table_that_is_no_such_table_is_named(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    table = source / "clinical_data.csv"
    table.write_bytes(table.read_text().encode("utf-16"))
    load(loaded, source)
    assert any("clinical_data.csv" in note and "no subjects" in note for note in notes(loaded))


@pytest.mark.parametrize("number", ["99999999999", "2147483648"])
def test_a_case_number_that_is_too_large(loaded, release, tmp_path, number):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    shutil.copy(path, path.with_name(f"Annotation_file_{number}.csv"))
    rejected(loaded, source, f"found case {number}; expected a whole number from 0 to 2147483647")


def test_a_case_number_in_other_digits(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    path.rename(path.with_name("Annotation_file_٢.csv"))
    rejected(loaded, source, "Annotation_file_٢.csv: found no case number")


@pytest.mark.parametrize(
    ("table", "column", "text", "words"),
    [
        ("metadata.csv", 0, "99999999999", "case_id '99999999999'; expected a whole number"),
        ("metadata.csv", 0, "1_2", "case_id '1_2'"),
        ("metadata.csv", 3, "1e300", "analyzed_duration_sec '1e300'; expected a number of seconds"),
        ("metadata.csv", 4, "9" * 5000, "total_beats '9999"),
        ("clinical_data.csv", 0, "99999999999999", "caseid '99999999999999'; expected a whole number"),
        ("clinical_data.csv", 1, "99999999999999", "subjectid '99999999999999'"),
        ("clinical_data.csv", 1, "٢", "subjectid '٢'"),
    ],
)
def test_numbers_of_the_tables_that_are_none_or_too_large(
    loaded, release, tmp_path, table, column, text, words
):
    source = copy_of(release, tmp_path)
    edit(source / table, replaced(column, text, row=2))
    rejected(loaded, source, f"{table}, row 2: found {words}")


@pytest.mark.parametrize(
    ("table", "name"), [("metadata.csv", "total_beats"), ("clinical_data.csv", "subjectid")]
)
def test_a_column_twice(loaded, release, tmp_path, table, name):
    source = copy_of(release, tmp_path)
    edit(
        source / table,
        lambda lines: [f"{lines[0]},{name}", *(f"{line},7" for line in lines[1:] if line)],
    )
    rejected(loaded, source, f"{table}, row 1: found column {name} more than once; expected each column once")


def test_a_ragged_row_of_a_table(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "metadata.csv", lambda lines: [*lines[:3], lines[3].rsplit(",", 2)[0], *lines[4:]])
    rejected(loaded, source, "metadata.csv, row 4: found", "as in the header")


def test_another_case_in_the_caseid_column(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source, "caseid")
    edit(path, replaced(0, "1.0"))
    rejected(loaded, source, f"{path.name}, row 5: found caseid '1.0'", "as the file's name says")


def test_a_missing_field(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    edit(path, lambda lines: [*lines[:4], lines[4].rsplit(",", 1)[0], *lines[5:]])
    rejected(loaded, source, f"{path.name}, row 5: found 4 fields; expected 5")


def test_many_problems_are_counted_and_ten_are_shown(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    for row in range(3, 20):
        edit(path, replaced(2, "Bigeminy", row))
    error = rejected(loaded, source, f"{path.name}, row 3", "… and 7 more")
    assert len(error.problems) == 17
    assert f"{path.name}, row 13" not in str(error)


def test_several_bad_files_are_all_named(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    paths = sorted((source / "annotations").glob("*.csv"))[:3]
    for path in paths:
        path.write_text("not a table\n")
    rejected(loaded, source, *(path.name for path in paths), "3 of 12 annotation files rejected")


def test_metadata_row_without_a_file(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    path.unlink()
    rejected(loaded, source, "metadata.csv, row", path.name)


def test_file_without_a_metadata_row(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "metadata.csv", lambda lines: [*lines[:1], *lines[2:]])
    rejected(loaded, source, "metadata.csv: found no row for case")


def test_metadata_without_a_column(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "metadata.csv", lambda lines: [lines[0].replace("total_beats", "beats"), *lines[1:]])
    rejected(loaded, source, "metadata.csv, row 1: found columns", "also total_beats")


def test_metadata_with_a_case_twice(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "metadata.csv", lambda lines: [*lines[:2], lines[1], *lines[2:]])
    rejected(loaded, source, "metadata.csv, row 3: found case", "again")


@pytest.mark.parametrize("text", ["many", "1.5", ""])
def test_metadata_with_a_count_that_is_none(loaded, release, tmp_path, text):
    source = copy_of(release, tmp_path)
    edit(source / "metadata.csv", replaced(4, text, row=2))
    rejected(loaded, source, "metadata.csv, row 2")


def test_a_subject_missing_from_the_table(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    case = annotation_file(source).stem.rsplit("_", 1)[1]
    edit(
        source / "clinical_data.csv",
        lambda lines: [line for line in lines if not line.startswith(f"{case},")],
    )
    rejected(loaded, source, f"no row for case {case}", "a subject for every annotated case")


def test_a_subject_out_of_range(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "clinical_data.csv", replaced(1, "7000", row=2))
    rejected(loaded, source, "clinical_data.csv, row 2: found subject 7000; expected 1..6090")


def test_a_subjects_table_without_rows(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "clinical_data.csv", lambda lines: lines[:1])
    rejected(loaded, source, "no row for case", "a subject for every annotated case")


def test_a_subjects_table_is_stored_by_case_with_its_lines(loaded, release, tmp_path):
    """In any order, with empty lines, with a line feed inside a field: row_no is where a row ends in the file."""
    source = copy_of(release, tmp_path)
    table = source / "clinical_data.csv"
    before = clinical(loaded)
    with table.open(newline="") as file:
        header, *rows = csv.reader(file)
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, "remark"])
        for row in reversed(rows):
            file.write("\n")
            writer.writerow([*row, "two\nlines"])
    load(loaded, source)
    found = clinical(loaded)
    assert [row[:-1] for row in found] == [row[:-1] for row in before]
    lines = {int(row[0]): 4 + 3 * at for at, row in enumerate(reversed(rows))}
    assert {row[0]: row[-1] for row in found} == lines


def test_faults_of_a_table_are_named_line_by_line(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    edit(source / "metadata.csv", replaced(4, "many", row=3))
    edit(source / "metadata.csv", replaced(1, "late", row=2))
    edit(source / "metadata.csv", replaced(4, "few", row=2))
    problems = rejected(loaded, source, "2 rows rejected").problems
    assert [(problem.row, problem.found.split()[0]) for problem in problems] == [
        (2, "analysis_start_time_sec"),
        (2, "total_beats"),
        (3, "total_beats"),
    ]


def test_a_subjects_table_without_its_columns(loaded, release, tmp_path):
    table = tmp_path / "subjects.csv"
    table.write_text("case,patient\n1,2\n")
    rejected(loaded, release, "subjects.csv, row 1: found columns case, patient", subjects=table)


def test_two_subject_tables_need_a_choice(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    shutil.copy(source / "clinical_data.csv", source / "cases.csv")
    with pytest.raises(UsageError, match="say which with --subjects"):
        load(loaded, source)
    load(loaded, source, subjects=source / "cases.csv")


def test_a_subjects_file_that_is_not_there(loaded, release, tmp_path):
    with pytest.raises(UsageError, match="expected a CSV with caseid and subjectid"):
        load(loaded, release, subjects=tmp_path / "no.csv")


def test_without_subjects_the_note_says_what_follows(release, tmp_path):
    source = copy_of(release, tmp_path)
    (source / "clinical_data.csv").unlink()
    home = Home(tmp_path / "data")
    report = load(home, source)
    assert any("no case has a part" in note for note in report.notes)
    assert read_report(home, DATASET)["tables"]["clinical"]["rows"] == 0


def test_subjects_in_metadata_are_taken(release, tmp_path):
    """Release 1.0.0 joins the clinical table to metadata.csv, as far as is known."""
    source = copy_of(release, tmp_path)
    subjects = dict(
        line.split(",")[:2] for line in (source / "clinical_data.csv").read_text().splitlines()[1:]
    )
    (source / "clinical_data.csv").unlink()

    def join(lines: list[str]) -> list[str]:
        rows = [f"{line},{subjects[line.split(',')[0]]},>89" for line in lines[1:] if line]
        return [f"{lines[0]},subjectid,age", *rows, ""]

    edit(source / "metadata.csv", join)
    home = Home(tmp_path / "data")
    report = load(home, source)
    assert "subjects: metadata.csv (12 cases)" in report.notes


def quality_markers(home: Home) -> dict[str, list[int]]:
    return {
        odd["what"]: odd["where"]
        for odd in read_report(home, DATASET)["oddities"]
        if "quality" in odd["what"]
    }


def test_markers_are_counted_by_number_and_by_turns(loaded, release, tmp_path):
    """A begin inside a bad stretch puts the numbers off by one; Start2 before Start1 only breaks the turns."""
    source = copy_of(release, tmp_path)
    files = [
        path
        for path in sorted((source / "annotations").glob("*.csv"))
        if "bad_signal_quality,bad_signal_quality_label" in path.read_text(encoding="utf-8-sig")
    ][:3]
    cases = []
    for path, labels in zip(
        files, [("End1", "Start1"), ("Start1", "Start2", "End1", "End2"), ("Start1", "End1")], strict=True
    ):

        def mark(lines: list[str], labels=labels) -> list[str]:
            bare = [
                line if n == 0 or not line else line.rsplit(",", 1)[0] + "," for n, line in enumerate(lines)
            ]
            return [
                bare[0],
                *(line + label for line, label in zip(bare[1:], labels, strict=False)),
                *bare[1 + len(labels) :],
            ]

        edit(path, mark)
        cases.append(int(path.stem.rsplit("_", 1)[1]))
    load(loaded, source)
    number, turns = quality_markers(loaded).items()
    assert "a number of the quality markers lacks" in number[0]
    assert "do not alternate" in turns[0]
    assert [set(cases) & set(number[1]), set(cases) & set(turns[1])] == [{cases[0]}, set(cases[:2])]


@pytest.mark.parametrize("size", [1, 20_000])
def test_rows_do_not_hang_on_how_many_files_are_parsed_at_a_time(
    loaded, release, tmp_path, monkeypatch, size
):
    monkeypatch.setattr("warehouse.load.annotation_csv.BATCH", size)
    other = Home(tmp_path / "other")
    load(other, release)
    rows = "SELECT * FROM read_parquet('{}/annotation/*.parquet')"
    one, two = (duckdb.sql(rows.format(home.raw / DATASET)).fetchall() for home in (loaded, other))
    assert one == two


def test_loading_again_gives_the_same_bytes(loaded, release):
    before = snapshot(loaded)
    load(loaded, release)
    assert snapshot(loaded) == before


def test_windows_line_ends_and_no_final_line_end_are_read(loaded, release, tmp_path):
    source = copy_of(release, tmp_path)
    path = annotation_file(source)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").rstrip(b"\r\n"))
    load(loaded, source)
