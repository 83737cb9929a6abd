"""Tables of labels: their shapes, and everything that is wrong with one at once."""

import numpy as np
import polars as pl
import pytest
from toy_images import ASKED, CLASSES, images

from pipelines.evaluate import KINDS
from pipelines.submission import read_submission
from warehouse.errors import InputError

HEADER = "instance_id," + ",".join(CLASSES)


@pytest.fixture
def read(tmp_path):
    task = images(tmp_path)

    def read(content, name="mine.csv", rule="no label"):
        path = tmp_path / name
        if isinstance(content, pl.DataFrame):
            content.write_parquet(path)
        else:
            path.write_text(content)
        return read_submission(
            path, task.instances, task.classes, "test", kind=KINDS["multilabel"], missing_row=rule
        )

    return read


def faults(error) -> str:
    return "\n".join(map(str, error.value.problems))


LABELS = np.array([[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)


@pytest.mark.parametrize("words", [("0", "1"), ("false", "true"), ("False", " TRUE "), ("0.0", "1.0")])
def test_a_column_per_class(read, words):
    rows = [f"{key},{','.join(words[int(x)] for x in row)}" for key, row in zip(ASKED, LABELS, strict=True)]
    found = read("\n".join([HEADER, *rows[::-1]]))
    assert found.scores.tolist() == np.column_stack([LABELS, np.zeros(5)]).tolist()


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Int8, pl.Float32, pl.String])
def test_a_column_per_class_in_parquet(read, dtype):
    columns = {name: pl.Series(LABELS[:, j].astype(int)).cast(dtype) for j, name in enumerate(CLASSES)}
    found = read(pl.DataFrame({"instance_id": ASKED, **columns}), "mine.parquet")
    assert found.scores[:, :-1].tolist() == LABELS.tolist()


JOINED = ["apple", "Plum, apple", "", "kiwi pie", "PEAR/FIG"]


def test_a_column_of_names(read):
    rows = [f'{key},"{text}"' for key, text in zip(ASKED, JOINED, strict=True)]
    assert read("\n".join(["instance_id,labels", *rows])).scores[:, :-1].tolist() == LABELS.tolist()
    spaced = [row.replace(", ", " ,").replace("apple", " apple ") for row in rows]
    assert read("\n".join(["instance_id,labels", *spaced])).scores[:, :-1].tolist() == LABELS.tolist()
    texts = pl.DataFrame({"instance_id": ASKED, "labels": [text or None for text in JOINED]})
    assert read(texts, "mine.parquet").scores[:, :-1].tolist() == LABELS.tolist()
    lists = pl.DataFrame(
        {"instance_id": ASKED, "labels": [list(filter(None, t.split(", "))) for t in JOINED]}
    )
    assert read(lists, "mine.parquet").scores[:, :-1].tolist() == LABELS.tolist()


def test_every_kind_of_fault_is_reported_at_once(read):
    rows = [
        'd1,"apple, pear"',
        "c2,APPLE",
        "c2,apple",
        "zz,apple",
        'b3,"apple,"',
        "a4,['apple']",
        "g7,anything",
    ]
    with pytest.raises(InputError) as error:
        read("\n".join(["instance_id,labels", *rows]), rule="error")
    text = faults(error)
    assert "unknown instances (1): zz" in text
    assert "more than once (1): c2" in text
    assert "instances without a row (1): e5" in text
    assert """no class (3): d1 ('pear'), c2 ('APPLE'), a4 ("['apple']")""" in text
    assert "names joined by commas, of: Plum, apple, kiwi pie, PEAR/FIG" in text
    assert "a stray comma in labels (1): b3" in text
    assert len(error.value.problems) == 5
    assert error.value.exit_code == 1


def test_columns_and_rows_are_told_together(read):
    with pytest.raises(InputError) as error:
        read("instance_id,apple,Plum\nzz,1,0\nd1,1,0\nd1,0,0\n")
    text = faults(error)
    assert "no column kiwi pie, PEAR/FIG among: instance_id, apple, Plum" in text
    assert "unknown instances (1): zz" in text
    assert "more than once (1): d1" in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "instance_id,x\nd1,1\n",
            r"no column Plum, apple, kiwi pie, PEAR/FIG \(nor labels, nor answer\) among",
        ),
        ("instance_id,PLUM,Apple\nd1,1,0\n", "no column Plum, apple, kiwi pie"),
        ("instance_id;labels\nd1;apple\n", "separate the columns with commas"),
        ("instance_id,labels,apple\nd1,apple,1\n", "columns labels, apple; expected either"),
        ("instance_id,labels,answer\nd1,apple,x\n", "columns labels, answer; expected either"),
        ("instance_id,labels,answer_status\nd1,apple,no answer\n", "although answer_status says none"),
        ("instance_id,labels,answer_status\nd1,apple,fine\n", r"unknown answer_status \(1\): d1"),
    ],
)
def test_columns_that_do_not_fit(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content)


@pytest.mark.parametrize("bad", ["0.5", "", "nan", "yes", "2", "-1", "null", "1e0"])
def test_what_is_neither_true_nor_false(read, bad):
    with pytest.raises(InputError, match=r"neither true nor false in kiwi pie \(1\): d1") as error:
        read(f"{HEADER}\nd1,1,0,{bad},0\nc2,1,0,0,0\n")
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("cells", [[[1, 2]], [{"a": 1}], [b"apple"], [3], [["apple", None]], [True]])
def test_labels_of_a_type_that_holds_no_names(read, cells):
    with pytest.raises(InputError, match=r"names in labels that are no class \([12]\): d1"):
        read(pl.DataFrame({"instance_id": ["d1"], "labels": cells}), "mine.parquet")


def test_ten_of_many_unknown_names(read):
    names = ", ".join(f"name {n}" for n in range(14))
    with pytest.raises(InputError, match=r"no class \(14, the first 10 of them\)") as error:
        read(f'instance_id,labels\nd1,"{names}"\n')
    assert "name 9" in faults(error)
    assert "name 10" not in faults(error)


def test_rows_that_are_not_asked_for_are_never_looked_at(read):
    found = read("instance_id,labels\nd1,apple\nf6,???\ng7,pear\n")
    assert found.ignored == {"left out": 1, "other part": 1}
    assert found.scores[:, -1].tolist() == [0.0, 3.0, 3.0, 3.0, 3.0]
