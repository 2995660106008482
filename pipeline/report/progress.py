"""What a long run says while it works: a live line on a terminal, quiet plain lines in a log."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from pipeline.report.color import is_interactive, paint, wants_color

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.progress import Progress, TaskID

_PLAIN_EVERY = 30.0


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
