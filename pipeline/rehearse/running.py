"""Runs assemblers side by side, each bounded in time, memory, files and words; whatever they do, they end."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import IO

_TICK = 0.2  # seconds; a signal that comes right before a wait is heeded only when that wait is over
_GRACE = 30.0
_PIECE = 1 << 16
_LISTENED = 1 << 20
# Set by the process itself before it becomes the program: from outside it would be too late for a quick one. Python
# ignores two signals, and what is ignored stays so; importing signal, and enum with it, would take as long as the rest.
_BOUNDED = """
import _signal, os, resource, sys
for ignored in (_signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(ignored, _signal.SIG_DFL)
seconds, memory, file = map(int, sys.argv[1:4])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
os.execv(sys.argv[4], sys.argv[4:])
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """For one text: seconds of processor time (and four times that on the clock), bytes of address space and of output.

    ``texts`` bytes of PTX are taken from an artifact at most.
    """

    seconds: float = 600.0
    memory: int = 8 << 30
    file: int = 1 << 30
    words: int = 64 << 20
    texts: int = 4 << 30


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, run in ``folder``, which is its own."""

    arguments: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit status, or minus the signal, and the first of its words.

    ``seconds`` of processor time, ``memory`` the most bytes that were resident, 0 where that was no more than this
    process ever had: Linux starts a child's count at its parent's. ``stopped`` says which of our limits ended it, empty
    where none did.
    """

    place: int
    status: int
    output: str
    seconds: float
    memory: int
    stopped: str = ""


@dataclass(slots=True)
class _Running:
    place: int
    process: subprocess.Popen[bytes]
    deadline: float
    heard: bytearray = field(default_factory=bytearray)
    words: int = 0
    silent: bool = False
    stopped: str = ""

    @property
    def voice(self) -> IO[bytes]:
        if self.process.stdout is None:
            raise TypeError("the assembler was started without a pipe")
        return self.process.stdout

    def stop(self, why: str) -> None:
        """Kill it and whatever it started; ``why`` is the limit, unless it had met one before."""
        self.stopped = self.stopped or why
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def run_all(commands: Sequence[Command], limits: Limits, workers: int) -> Iterator[Ended]:
    """Run all commands, up to ``workers`` at the same time, started in their order; yield each as it ends.

    The next one is started before a result is handed out. Nothing is left running, however the iteration ends.
    ``OSError`` when the system starts no process.
    """
    waiting = list(enumerate(commands))[::-1]
    running: list[_Running] = []
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(_started(*waiting.pop(), limits, selector))
                ended = list(_ended(running, limits, selector))
                running = [item for item in running if item.process.returncode is None]
                while waiting and len(running) < workers:
                    running.append(_started(*waiting.pop(), limits, selector))
                yield from ended
        finally:
            for item in running:
                item.stop("interrupted")
                item.process.wait()
                item.voice.close()


def _started(place: int, command: Command, limits: Limits, selector: selectors.BaseSelector) -> _Running:
    process = subprocess.Popen(
        (*_bounded(limits), *command.arguments),
        cwd=command.folder,
        env={"LC_ALL": "C", "TMPDIR": str(command.folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    )
    item = _Running(place, process, time.monotonic() + 4 * limits.seconds + _GRACE)
    os.set_blocking(item.voice.fileno(), False)
    selector.register(item.voice, selectors.EVENT_READ, item)
    return item


def _bounded(limits: Limits) -> tuple[str, ...]:
    """The start of a command: what follows runs under limits of the kernel's, which hold even where we are killed."""
    seconds = max(int(limits.seconds), 1)
    return (sys.executable, "-I", "-S", "-c", _BOUNDED, str(seconds), str(limits.memory), str(limits.file))


def _ended(running: list[_Running], limits: Limits, selector: selectors.BaseSelector) -> Iterator[Ended]:
    """Wait a moment, listen to all, stop what is over a limit, and take what has ended."""
    silent = any(item.silent for item in running)
    for key, _ in selector.select(0.002 if silent else _TICK):
        _listen(key.data, limits, selector)
    now = time.monotonic()
    for item in running:
        if now > item.deadline:
            item.stop("time")
        pid, status, usage = os.wait4(item.process.pid, os.WNOHANG) if item.silent or item.stopped else (0, 0, None)
        if pid and usage is not None:
            yield _taken(item, status, usage, selector)


def _listen(item: _Running, limits: Limits, selector: selectors.BaseSelector) -> None:
    piece = os.read(item.voice.fileno(), _PIECE)
    if not piece:
        item.silent = True
        selector.unregister(item.voice)
        return
    item.words += len(piece)
    item.heard += piece[: max(_LISTENED - len(item.heard), 0)]
    if item.words > limits.words:
        item.stop("words")


def _taken(item: _Running, status: int, usage: resource.struct_rusage, selector: selectors.BaseSelector) -> Ended:
    item.process.returncode = os.waitstatus_to_exitcode(status)
    if not item.silent:
        selector.unregister(item.voice)
    item.voice.close()
    item.stop("")  # what it may have started
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Ended(
        place=item.place,
        status=item.process.returncode,
        output=item.heard.decode("utf-8", "replace"),
        seconds=usage.ru_utime + usage.ru_stime,
        memory=usage.ru_maxrss << 10 if usage.ru_maxrss > inherited else 0,
        stopped=item.stopped,
    )
