"""How one run of an assembler ended, as the value that rules judge: its words, its limits, its machine code."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, open_view
from pipeline.errors import InfrastructureError
from pipeline.formats.budgets import STANDARD
from pipeline.formats.elf import read_elf
from pipeline.formats.kernels import KernelNames, cubin_kernels
from pipeline.rehearse.words import last_words, spilled, understood
from pipeline.rules.assembly import Assembly, Ending

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.rehearse.running import Ended, Limits
    from pipeline.rules.assembly import Complaint

_FUNCTION = re.compile(rb"\.(?:entry|func)\b[^{;]{0,4096}?\b([A-Za-z_$%][A-Za-z0-9_$]{0,4096})\s*\(")
_TIME = (signal.SIGXCPU, signal.SIGALRM)


@dataclass(frozen=True, slots=True)
class Judged:
    """Turns runs into values. ``limits`` are those that the runs had."""

    limits: Limits

    def judge(self, attempt: Assembly, ended: Ended, text: Path, cubin: Path) -> Assembly:
        """What became of ``attempt``; ``text`` is what was assembled, ``cubin`` where the machine code should be."""
        measured = replace(attempt, seconds=ended.seconds, spilled=spilled(ended.output))
        ending, why = self._stopped(ended)
        if ending is not None:
            return replace(measured, ending=ending, reason=why)
        words = understood(ended.output)
        if words.gave_up is not None:
            return replace(measured, ending=words.gave_up, reason=words.why)
        if ended.status == 0:
            return _accepted(measured, cubin)
        if words.complaints and ended.status > 0:
            named = tuple(_in_its_function(complaint, text) for complaint in words.complaints)
            return replace(measured, ending=Ending.REFUSED, complaints=named, more=words.more, reason=named[0].text)
        said = last_words(ended.output)
        how = f"signal {_signal(-ended.status)}" if ended.status < 0 else f"exit status {ended.status}"
        return replace(measured, ending=Ending.CRASHED, reason=f"{how}: {said}" if said else how)

    def _stopped(self, ended: Ended) -> tuple[Ending | None, str]:
        """The limit that ended the run."""
        seconds = f"it took more than {self.limits.seconds:g} s"
        if ended.stopped == "time" or -ended.status in _TIME:
            return Ending.TIME_LIMIT, seconds
        if -ended.status == signal.SIGKILL and not ended.stopped and ended.seconds >= self.limits.seconds:
            return Ending.TIME_LIMIT, seconds
        if ended.stopped == "words" or -ended.status == signal.SIGXFSZ:
            return Ending.OUTPUT_LIMIT, "it wrote more than it may"
        if ended.status < 0 and ended.memory >= self.limits.memory // 2:
            return Ending.MEMORY_LIMIT, f"it took {ended.memory >> 20} MiB and was ended by {_signal(-ended.status)}"
        return None, ""


def _accepted(measured: Assembly, cubin: Path) -> Assembly:
    """A yes counts with machine code that can be read."""
    try:
        with open_view(cubin) as view:
            kernels = cubin_kernels(read_elf(view, STANDARD), KernelNames(STANDARD))
            return replace(measured, ending=Ending.ACCEPTED, kernels=kernels, cubin=view.size)
    except (FormatError, InfrastructureError) as error:
        return replace(measured, ending=Ending.CRASHED, reason=f"it said yes, and its machine code is none: {error}")


def _in_its_function(complaint: Complaint, text: Path) -> Complaint:
    """The complaint with the function around its line, the last one that begins before it."""
    if complaint.kernel or not complaint.line:
        return complaint
    before = b"".join(text.read_bytes().splitlines(keepends=True)[: complaint.line])
    names = [found[1] for found in _FUNCTION.finditer(before)]
    return replace(complaint, kernel=names[-1].decode("ascii")) if names else complaint


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
