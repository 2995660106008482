"""Long work says that it goes on, quick work says nothing, and a terminal's line is taken back."""

from __future__ import annotations

import io
import time

import pytest

from pipeline.report import progress
from pipeline.report.progress import patience


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LIVE_AFTER", 0.05)
    monkeypatch.setattr(progress, "_PLAIN_EVERY", 0.1)


def said(stream: io.StringIO, seconds: float, text: str = "reading b.tar.gz", **environment: str) -> str:
    with patience(stream, environment, text):
        time.sleep(seconds)
    return stream.getvalue()


def test_quick_work_says_nothing() -> None:
    assert said(Terminal(), 0) == said(io.StringIO(), 0) == ""


def test_a_terminal_gets_one_line_that_is_taken_back() -> None:
    text = said(Terminal(), 0.3)
    assert text.startswith("\r\x1b[Kreading b.tar.gz  0 s\r\x1b[K")
    assert text.endswith("\r\x1b[K")
    assert "\n" not in text


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_a_log_gets_whole_lines_and_no_escapes(environment: dict[str, str]) -> None:
    text = said(Terminal(), 0.3, **environment)
    assert text.splitlines()[0] == "reading b.tar.gz  0 s"
    assert "\x1b" not in text


def test_names_are_escaped_and_cut_so_that_the_line_can_be_taken_back() -> None:
    line = said(Terminal(), 0.1, f"reading \x1b[31m/{'x' * 200}/libggml-cuda.so").split("\r\x1b[K")[1]
    assert line.startswith(r"reading \x1b[31m/xxx")
    assert line.endswith("libggml-cuda.so  0 s")
    assert len(line) < 70


def interrupted(stream: Terminal) -> None:
    with patience(stream, {}, "reading"):
        time.sleep(0.1)
        raise KeyboardInterrupt


def test_it_ends_with_the_work_whatever_became_of_that() -> None:
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt):
        interrupted(stream)
    told = stream.getvalue()
    time.sleep(0.15)
    assert stream.getvalue() == told
    assert told.endswith("\r\x1b[K")
