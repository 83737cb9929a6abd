"""docs/encoders.md: its tables are what classes and cards say, its first lines run, its commands are there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders import hubert_ecg

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "encoders.md").read_text(encoding="utf-8")
PUBLISHED = [name for name in encoders.names() if name != "dummy"]


def rows(header: str) -> dict[str, list[str]]:
    """Name → the cells of its row, in the table whose header begins so; a row may be of several names."""
    lines = PAGE[PAGE.index(header) :].split("\n\n")[0].splitlines()[2:]
    found = {}
    for line in lines:
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found |= {name: cells for name in re.findall(r"`(\w+)`", first)}
    return found


def test_every_published_encoder_is_in_both_tables():
    for header in ("| name | window |", "| name | pre-trained on |"):
        assert sorted(rows(header)) == PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_table_says_what_the_encoder_declares_and_gives(name, monkeypatch):
    monkeypatch.setattr(hubert_ecg, "preprocess", lambda x: x)  # which takes values, and there are none
    with torch.device("cpu" if name == "cpc" else "meta"):  # its constants come from NumPy
        encoder = encoders.create(name)
        x = torch.zeros(1, len(encoder.leads), encoder.model_seq_len)
    given = encoder.encode(x)
    tokens = (given[0] if isinstance(given, tuple) else given).shape[1]
    window = f"{encoder.chunk_seconds:g} s at {encoder.model_fs} Hz"
    parameters = f"{encoders.card(name).parameters:,}"
    pool = "the norm of the mean" if name == "st_mem" else "the mean"
    expected = [window, str(len(encoder.leads)), str(tokens), str(encoder.feature_dim), parameters, pool]
    assert rows("| name | window |")[name] == expected


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_it_was_pre_trained_on_is_the_cards(name):
    assert rows("| name | pre-trained on |")[name] == ["; ".join(encoders.card(name).pretrained_on)]


def test_the_first_lines_run_and_give_what_they_say():
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    names: dict = {}
    exec(compile(code, "docs/encoders.md", "exec"), names)
    said = [
        tuple(map(int, shape.split(", ")))
        for shape in re.findall(r"\((\d[\d, ]*)\)", code.split("fs=400)")[1])
    ]
    assert [tuple(names["sequence"].shape), tuple(names["pooled"].shape)] == said[:2]
    assert names["groups"]["early"]
    assert names["groups"]["late"]
    assert not names["encoder"].train().training
