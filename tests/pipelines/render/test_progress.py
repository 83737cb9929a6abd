"""How far a render is: a bar for a terminal, lines for a log, nothing where nobody asked."""

from __future__ import annotations

import sys

from pipelines.render import progress
from pipelines.render.progress import progress_bar


def test_a_log_gets_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LOG_EVERY_S", 0.0)
    with progress_bar(20, True) as step:
        step(8)
        step(12)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["rendered 8 of 20", "rendered 20 of 20"]
    assert all(line.endswith(" images/s") for line in lines)


def test_a_terminal_gets_a_bar_with_the_rate(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(20, True) as step:
        step(20)
    said = capsys.readouterr().err
    assert "20/20" in said
    assert "images/s" in said


def test_nobody_asked(capsys):
    for length, shown in ((20, False), (0, True)):
        with progress_bar(length, shown) as step:
            step(0)
    assert capsys.readouterr().err == ""
