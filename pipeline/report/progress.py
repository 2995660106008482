"""What long work says while it goes on: a live line on a terminal, quiet plain lines in a log."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from pipeline.model.paths import printable
from pipeline.report.color import is_interactive, paint, wants_color

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.progress import Progress, TaskID

_PLAIN_EVERY = 30.0
_LIVE_AFTER = 1.0
_MOST_LIVE = 60
_CLEARED = "\r\x1b[K"


class Step(Protocol):
    """One stage of one lane in progress."""

    def note(self, text: str) -> None:
        """Something new to show: the last line of a build log, say. May be dropped when they come fast."""
        ...

    def amount(self, done: int, total: int) -> None:
        """How far it is, in any unit."""
        ...


class Talk:
    """The voice of a run on stderr."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        self._stream = stream
        self._live = is_interactive(stream, environment)
        self._color = wants_color(stream, environment)

    def say(self, text: str, style: str | None = None) -> None:
        """Print one line."""
        self._stream.write((paint(text, style, color=self._color) if style else text) + "\n")
        self._stream.flush()

    @contextmanager
    def step(self, lane: str, stage: str) -> Iterator[Step]:
        """Show that ``stage`` of ``lane`` is under way until the block ends; say how long it took."""
        started = time.monotonic()
        if self._live:
            with _live_step(self._stream, f"{lane}  {stage}") as step:
                yield step
        else:
            yield _PlainStep(self, lane, stage)
        self.say(f"{lane}  {stage}  {time.monotonic() - started:.1f} s", "dim")


class _PlainStep:
    """For logs: one line every half minute, so that nobody thinks it hangs."""

    def __init__(self, talk: Talk, lane: str, stage: str) -> None:
        self._talk = talk
        self._prefix = f"{lane}  {stage}"
        self._next = time.monotonic() + _PLAIN_EVERY

    def note(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PLAIN_EVERY
            self._talk.say(f"{self._prefix}  … {text}")

    def amount(self, done: int, total: int) -> None:
        self.note(f"{done} of {total}")


class _LiveStep:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def note(self, text: str) -> None:
        self._progress.update(self._task, note=text[:100])

    def amount(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total or None)


@contextmanager
def _live_step(stream: TextIO, title: str) -> Iterator[Step]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    progress = RichProgress(
        SpinnerColumn(),
        TextColumn(escape(title)),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False, style="dim"),
        console=Console(file=stream),
        transient=True,
    )
    with progress:
        yield _LiveStep(progress, progress.add_task(title, total=None, note=""))


@contextmanager
def patience(stream: TextIO, environment: Mapping[str, str], text: str) -> Iterator[None]:
    """Say that one piece of work still goes on: each second from the first on, in a log each half minute.

    What is quicker says nothing, and a terminal's line is taken back. No process may be forked meanwhile: a thread
    speaks.
    """
    live = is_interactive(stream, environment)
    over = threading.Event()
    speaker = threading.Thread(target=_speak, args=(stream, _short(text), over), kwargs={"live": live}, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        over.set()
        speaker.join()


def _short(text: str) -> str:
    """What no terminal breaks, or it could not be taken back; the end of a path says more than its middle."""
    clean = printable(text)
    return clean if len(clean) <= _MOST_LIVE else f"{clean[: _MOST_LIVE // 3]}…{clean[-_MOST_LIVE // 2 :]}"


def _speak(stream: TextIO, text: str, over: threading.Event, *, live: bool) -> None:
    started, spoken = time.monotonic(), False
    while not over.wait(_LIVE_AFTER if live else _PLAIN_EVERY):
        line = f"{text}  {time.monotonic() - started:.0f} s"
        stream.write(f"{_CLEARED}{line}" if live else f"{line}\n")
        stream.flush()
        spoken = live
    if spoken:
        stream.write(_CLEARED)
        stream.flush()
