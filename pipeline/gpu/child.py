"""The parent's side of one worker: started, spoken to under time limits, and ended whatever it does."""

from __future__ import annotations

import ast
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pipeline.gpu.wire import prefix

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT = Path(__file__).resolve().parent.parent.parent
# Isolated, without site: a worker needs the standard library, and starts in a fraction of the time.
_BOOT = "import sys; sys.path.append(sys.argv[1]); from pipeline.gpu.worker import main; sys.exit(main())"
_PIPE = 1 << 20  # the largest that an unprivileged process may ask for by default, pipe(7)
_TAIL = 4096
_LONGEST_ANSWER = 1 << 20
_TICK = 0.2
_ENDED = 5.0  # seconds that the kernel may take to end a killed worker


class WorkerLost(Exception):
    """The worker ended without an answer; the message says how, with the last words on its stderr."""


class WorkerDeaf(Exception):
    """The worker reads no more; what it said before it ended can still be heard."""


class WorkerSilent(Exception):
    """The worker did not answer in time and was killed."""


class Child:
    """One worker process. Not for two threads at once. ``room`` bytes can be told to it while it does not listen."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start it with exactly this environment; ``OSError`` when the system refuses."""
        self._stderr = os.memfd_create("worker-stderr")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, str(_ROOT)],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise TypeError("the worker was started without pipes")
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._heard = b""
        os.set_blocking(self._to, False)
        self.room = _widened(self._to)

    def tell(self, message: bytes | memoryview, seconds: float) -> None:
        """Send one message; ``WorkerDeaf``, ``WorkerSilent``."""
        deadline = time.monotonic() + seconds
        for part in (prefix(len(message)), message):
            self._write(memoryview(part), deadline)

    def _write(self, rest: memoryview, deadline: float) -> None:
        while rest:
            if not select.select([], [self._to], [], self._tick(deadline))[1]:
                continue
            try:
                rest = rest[os.write(self._to, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise WorkerDeaf from error

    def hear(self, seconds: float) -> dict[str, Any]:
        """The next answer; ``WorkerLost`` when it ended instead, ``WorkerSilent`` when the time is over."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._heard:
            if not select.select([self._from], [], [], self._tick(deadline))[0]:
                if self._has_ended() and not select.select([self._from], [], [], 0)[0]:
                    self._lost()  # a process that the driver left behind holds the pipe
                continue
            piece = os.read(self._from, 65536)
            self._heard += piece
            if not piece or len(self._heard) > _LONGEST_ANSWER:
                self._lost()
        line, _, self._heard = self._heard.partition(b"\n")
        try:
            answer: dict[str, Any] = ast.literal_eval(line.decode("ascii"))
        except (ValueError, SyntaxError):  # what a dying driver may do to the memory around it
            self._lost()
        return answer

    def _tick(self, deadline: float) -> float:
        """How long to wait at once: a signal that comes right before a wait is heeded only when that wait is over."""
        left = deadline - time.monotonic()
        if left <= 0:
            self.end()
            raise WorkerSilent
        return min(left, _TICK)

    def _has_ended(self) -> bool:
        """Whether it runs no more; it is not buried yet, so that nobody else gets its number."""
        return self._process.returncode is not None or bool(
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        )

    def _lost(self) -> NoReturn:
        self.kill()
        status = self._process.wait(_ENDED)
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        words = self._last_words()
        self.end()
        raise WorkerLost(f"{how}: {words}" if words else how)

    def _last_words(self) -> str:
        size = os.fstat(self._stderr).st_size
        text = os.pread(self._stderr, _TAIL, max(size - _TAIL, 0)).decode(errors="replace")
        return " ".join(text.split())[-400:]

    def kill(self) -> None:
        """End the process and what it started, and nothing else: another thread may be listening to it."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill what still runs and close everything; more than once does no harm."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if self._stderr >= 0:
            os.close(self._stderr)
            self._stderr = -1
        self.kill()
        with suppress(subprocess.TimeoutExpired):  # in an uninterruptible wait inside the kernel module
            self._process.wait(_ENDED)


def _widened(descriptor: int) -> int:
    """Make a pipe larger, for fewer switches between the two processes; the bytes that it holds."""
    import fcntl

    with suppress(OSError):
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
    return fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
