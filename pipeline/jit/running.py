"""Runs one compiler in a process of its own, within its source's limits; whatever it does, it ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from pipeline.rehearse.running import Command, Ended, Limits, run_all
from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.model.jit import JitSource

_OVER_TIME = (signal.SIGXCPU, signal.SIGALRM)
_WORDS = 4 << 20
_NO_MEMORY = ("bad_alloc", "MemoryError", "out of memory", "Out of memory")


def limits_of(source: JitSource) -> Limits:
    """What one compilation of ``source`` may take."""
    return Limits(seconds=source.time_limit, memory=source.memory_limit, words=_WORDS)


def run_one(arguments: Sequence[str], folder: Path, limits: Limits) -> Ended:
    """Run it to its end in ``folder``; ``OSError`` where it cannot be started."""
    return next(run_all([Command(tuple(arguments), folder)], limits, 1))


def given_up(ended: Ended, limits: Limits, name: str) -> tuple[Ending, str] | None:
    """How a compiler ended that gave no answer, ``None`` for one that did: status 0, or 3 for a refusal."""
    if ended.status in {0, REFUSED} and not ended.stopped:
        return None
    killed = -ended.status == signal.SIGKILL and ended.seconds >= limits.seconds
    if ended.stopped == "time" or -ended.status in _OVER_TIME or killed:
        return Ending.TIME_LIMIT, f"{name} took more than {limits.seconds:g} s"
    if ended.stopped == "words" or -ended.status == signal.SIGXFSZ:
        return Ending.OUTPUT_LIMIT, f"{name} wrote more than it may"
    if any(word in ended.output for word in _NO_MEMORY):
        return Ending.MEMORY_LIMIT, f"{name} needs more than {limits.memory >> 20} MiB of address space"
    how = f"was ended by {_signal(-ended.status)}" if ended.status < 0 else f"ended with status {ended.status}"
    last = " ".join(ended.output.split())[-200:]
    return Ending.CRASHED, f"{name} {how}: {last}" if last else f"{name} {how}"


REFUSED = 3
"""The exit status of our compiler programs for a source that is refused."""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
