import datetime
import gzip

import polars as pl
import pytest
from toy import COUNTING, GOOD

from pipelines.submission import read_submission
from warehouse.errors import InputError, UsageError


@pytest.fixture
def read(task):
    return lambda path, part="test", classes=("odd",): read_submission(path, task.instances, classes, part)


def faults(error: pytest.ExceptionInfo[InputError]) -> str:
    return "\n".join(map(str, error.value.problems))


def test_rows_come_in_the_tasks_order_whatever_the_files(read, write, task):
    found = read(write(keys=COUNTING[::-1], scores=GOOD[::-1]))
    assert task.instances["instance_id"].gather(found.rows).to_list() == COUNTING
    assert found.scores.ravel().tolist() == GOOD
    assert found.ignored == {}


@pytest.mark.parametrize("record", ["case_id", "caseid", "record_id"])
@pytest.mark.parametrize("style", ["{}", "{}.0"])
def test_rows_named_by_record_and_start(read, write, record, style):
    rows = [
        f"{style.format(a)},{style.format(b)},{s}"
        for (a, b), s in zip(map(split, COUNTING), GOOD, strict=True)
    ]
    found = read(write("\n".join([f"{record},start_s,score", *rows])))
    assert found.scores.ravel().tolist() == GOOD


def split(key):
    return key.split("_")


def test_both_names_are_taken_when_they_agree(read, write):
    rows = [f"{k},{','.join(split(k))},{s}" for k, s in zip(COUNTING, GOOD, strict=True)]
    header = "instance_id,caseid,start_s,score"
    assert read(write("\n".join([header, *rows]))).scores.ravel().tolist() == GOOD
    rows[2] = rows[2].replace("2_0,2,0", "2_0,2,5")
    with pytest.raises(InputError, match="name the same instance") as error:
        read(write("\n".join([header, *rows])))
    assert "(1): 2_0" in faults(error)


@pytest.mark.parametrize("column", ["odd", "score"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.csv.gz", "mine.parquet"])
def test_formats_and_score_columns(read, write, tmp_path, column, name):
    path = write(column=column)
    if name.endswith("gz"):
        path = write(gzip.compress(path.read_bytes()), name=name)
    elif name.endswith("parquet"):
        pl.DataFrame({"instance_id": COUNTING, column: GOOD}).write_parquet(tmp_path / name)
        path = tmp_path / name
    found = read(path)
    assert found.scores.ravel().tolist() == GOOD
    assert found.file == name


def test_windows_line_ends_byte_order_mark_and_blanks(read, write):
    lines = ["instance_id, odd", *(f" {k} , {s} " for k, s in zip(COUNTING, GOOD, strict=True)), ""]
    assert read(write("\ufeff" + "\r\n".join(lines))).scores.ravel().tolist() == GOOD


def test_a_column_for_every_class(read, tmp_path):
    path = tmp_path / "two.parquet"
    frame = pl.DataFrame({"instance_id": COUNTING, "b": GOOD[::-1], "a": GOOD})
    frame.write_parquet(path)
    found = read(path, classes=("a", "b"))
    assert found.scores.tolist() == [list(pair) for pair in zip(GOOD, GOOD[::-1], strict=True)]
    frame.drop("b").write_parquet(path)
    with pytest.raises(InputError, match="no column b"):
        read(path, classes=("a", "b"))


def test_rows_that_do_not_count_are_counted_and_never_looked_at(read, write):
    keys = [*COUNTING, "1_10", "2_10", "4_0", "6_0"]
    found = read(write(keys=keys, scores=[*GOOD, "x", "", 9, "nan"]))
    assert found.ignored == {"not scored": 1, "left out": 1, "other part": 2}
    assert found.scores.ravel().tolist() == GOOD


def test_every_kind_of_fault_is_reported_at_once(read, write):
    keys = ["1_0", "1_5", "1_5", "2_0", "2_5", "9_9", "4_0", "4_0"]
    with pytest.raises(InputError) as error:
        read(write(keys=keys, scores=["nan", 1.5, 0.2, "high", -0.1, 0.5, 0.5, 0.5]))
    text = faults(error)
    assert "unknown instances (1): 9_9" in text
    assert "more than once (2): 1_5, 4_0" in text
    assert "without a row (2): 3_5, 3_10" in text
    assert "no number in odd, be it empty, NaN or text (2): 1_0 has 'nan', 2_0 has 'high';" in text
    assert "out of range in odd (2): 1_5 has '1.5', 2_5 has '-0.1';" in text
    assert error.value.exit_code == 1


@pytest.mark.parametrize("bad", ["", "nan", "NaN", "null", "0,5", "true", "0x1", "1_0"])
def test_what_is_no_number(read, write, bad):
    cell = f'"{bad}"' if "," in bad else bad
    with pytest.raises(InputError, match="no number in odd") as error:
        read(write(scores=[cell, *GOOD[1:]]))
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("bad", ["inf", "-inf", "1.0000001", "-1e-9", "2"])
def test_what_is_out_of_range(read, write, bad):
    with pytest.raises(InputError, match="out of range in odd") as error:
        read(write(scores=[bad, *GOOD[1:]]))
    assert len(error.value.problems) == 1


def test_the_ends_of_the_range_are_in_it(read, write):
    scores = [0, 1, "1e-3", "+0.5", "1.0", "-0.0"]
    assert read(write(scores=scores)).scores.ravel().tolist() == [0, 1, 0.001, 0.5, 1, 0]


def test_the_first_ten_keys_are_named_and_the_rest_counted(task, write):
    many = pl.concat([task.instances.head(1)] * 25).with_columns(
        instance_id=pl.format("7_{}", pl.int_range(25) * 5), start_s=pl.int_range(25) * 5
    )
    with pytest.raises(InputError) as error:
        read_submission(write(keys=["7_0"], scores=[0.5]), many, ("odd",), "test")
    named = ", ".join(f"7_{5 * i}" for i in range(1, 11))
    assert f"without a row (24, the first 10 of them): {named};" in str(error.value)


@pytest.mark.parametrize(
    "cells",
    [[True] * 6, [datetime.date(2020, 1, 1)] * 6, [[0.5]] * 6, [b"0.5"] * 6, [None] * 6, [float("nan")] * 6],
)
def test_parquet_columns_that_hold_no_numbers(read, tmp_path, cells):
    path = tmp_path / "mine.parquet"
    pl.DataFrame({"instance_id": COUNTING, "odd": cells}).write_parquet(path)
    with pytest.raises(InputError, match=r"no number in odd.*\(6\)"):
        read(path)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.csv", "an empty file"),
        ("  \n\n", "a.csv", "an empty file"),
        ("instance_id,odd\n", "a.csv", "a header without rows"),
        ("instance_id,odd\n1_0,0.5\n".encode("utf-16"), "a.csv", "row 1: found byte 0xff, which is no UTF-8"),
        ("instance_id,odd\n1_0,0.5\nn\u00e4,1".encode("latin-1"), "a.csv", "row 3: found byte 0xe4"),
        ("instance_id,odd\n1_0,0.5\n1_5\n", "a.csv", "row 3: found 1 fields; expected 2"),
        ("instance_id,odd\n1_0,0.5,7\n", "a.csv", "row 2: found 3 fields; expected 2"),
        ("instance_id,odd,odd\n1_0,0.5,0.5\n", "a.csv", "two columns named odd"),
        ("instance_id,odd\n1_0,0.\0\n", "a.csv", "NUL"),
        ("instance_id;odd\n1_0;0.5\n", "a.csv", "separate the columns with commas"),
        ("instance_id,p\n1_0,0.5\n", "a.csv", r"no column odd \(or score\) among: instance_id, p"),
        ("instance_id,odd,score\n1_0,0.5,0.5\n", "a.csv", "both columns odd and score"),
        ("row,odd\n1_0,0.5\n", "a.csv", "neither instance_id nor case_id with start_s"),
        ("case_id,odd\n1,0.5\n", "a.csv", "neither instance_id nor case_id with start_s"),
        ("case_id,caseid,start_s,odd\n1,1,0,0.5\n", "a.csv", "columns case_id and caseid"),
        (b"PAR1 and no more", "a.parquet", "no whole Parquet file"),
        (b"no gzip", "a.csv.gz", "no whole gzip"),
        (gzip.compress(b"instance_id,odd\n1_0,0.5\n", mtime=0)[:-9], "a.csv.gz", "no whole gzip"),
    ],
)
def test_files_that_cannot_be_read(read, write, content, name, message):
    with pytest.raises(InputError, match=message):
        read(write(content, name=name))


def test_half_a_parquet_file(read, tmp_path):
    path = tmp_path / "mine.parquet"
    pl.DataFrame({"instance_id": COUNTING, "odd": GOOD}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="no whole Parquet file"):
        read(path)


def test_half_a_csv_file_lacks_rows(read, write):
    whole = write().read_bytes()
    with pytest.raises(InputError, match=r"without a row|fields|no number"):
        read(write(whole[: len(whole) * 2 // 3]))


def test_wrong_usage(read, write, tmp_path):
    with pytest.raises(UsageError, match="no file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(UsageError, match="a folder"):
        read(tmp_path)
    with pytest.raises(UsageError, match=r"suffix '\.txt'"):
        read(write(name="mine.txt"))
    with pytest.raises(UsageError, match="no part 'tset'; expected one of: test, train, validation"):
        read(write(), part="tset")
