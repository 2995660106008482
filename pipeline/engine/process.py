"""Servers as plain processes of this machine: scrubbed environment, own session, nothing left after ``stop``."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pipeline.engine import supervisor
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.engine.interface import Launch

HOST = "127.0.0.1"
# What a server may inherit. LD_LIBRARY_PATH and LD_PRELOAD are left out on purpose: a bundle that needs the
# developer's libraries would pass here and fail at its users'.
INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_LINGER = 1.0  # seconds that children of a server that has ended may take to end too
_KILLED = 5.0  # seconds that the kernel may take to end a killed tree
_POLL = 0.005
_TAIL_BYTES = 1 << 20


def free_port() -> int:
    """Return a TCP port that was free on 127.0.0.1 a moment ago; ``InfrastructureError`` when there is none."""
    try:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port: int = probe.getsockname()[1]
            return port
    except OSError as error:
        raise InfrastructureError(f"no free port on {HOST}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class ProcessEngine:
    """Starts servers beside this process. ``environment`` is this process's own, to inherit a little from."""

    environment: Mapping[str, str]
    choose_port: Callable[[], int] = free_port

    @property
    def name(self) -> str:
        """The engine's name in reports."""
        return "process"

    def start(self, launch: Launch) -> ProcessServer:
        """Start ``launch`` under a supervisor of its own, its home and temporary folder empty.

        A command that cannot be executed is a server that ended with 127 or 126, not an error of the engine.
        """
        port = self.choose_port()
        words = {
            "{bundle}": str(launch.bundle),
            "{model}": str(launch.model),
            "{host}": HOST,
            "{port}": str(port),
            "{python}": sys.executable,
        }
        home = Path(tempfile.mkdtemp(prefix="cubingate-home-"))
        environment = {name: self.environment[name] for name in INHERITED if name in self.environment}
        environment |= {"HOME": str(home), "TMPDIR": str(home)}
        environment |= {name: _filled(value, words) for name, value in launch.environment.items()}
        try:
            process = _supervised([_filled(word, words) for word in launch.command], launch, environment)
        except OSError as error:
            shutil.rmtree(home, ignore_errors=True)
            raise InfrastructureError(f"cannot start a process: {error}") from error
        return ProcessServer(process, port, launch.log, home)


class ProcessServer:
    """A server under its supervisor. Not for two threads at once."""

    def __init__(self, supervisor_process: subprocess.Popen[bytes], port: int, log: Path, home: Path) -> None:
        self._supervisor = supervisor_process
        self._port = port
        self._log = log
        self._home = home
        self._heard = b""

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:PORT``, whether the server obeys or not."""
        return f"http://{HOST}:{self._port}"

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal, ``None`` while it runs.

        ``InfrastructureError`` when the supervisor was killed by somebody, so that nobody can know.
        """
        status = self._said_ended()
        if status is None and self._supervisor.poll() is not None:
            raise InfrastructureError("the supervisor of the server was killed from outside")
        return status

    def processes(self) -> tuple[int, ...]:
        """The ids of everything below the supervisor."""
        return tuple(process.pid for process in self._tree())

    def log_tail(self, lines: int = 40) -> str:
        """The last ``lines`` lines of the log, undecodable bytes replaced."""
        with self._log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])

    def stop(self, timeout: float) -> tuple[str, ...]:
        """SIGTERM the server, give it ``timeout`` seconds and its children one more, then kill the tree.

        Returns a description of everything that had to be killed, or that even survived that.
        """
        try:
            return self._ended_within(timeout)
        except InfrastructureError:  # the supervisor was killed: nobody else ends what it leaves behind
            self._kill_orphans()
            raise
        finally:
            self._bury()

    def _kill_orphans(self) -> None:
        def alive() -> bool:
            for process in (orphans := self._tree()):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            return bool(orphans)

        _soon(lambda: not alive(), _KILLED)

    def _ended_within(self, timeout: float) -> tuple[str, ...]:
        self._order(b"term\n")
        obeyed = _soon(lambda: self.exit_status() is not None, timeout)
        if obeyed and _soon(lambda: not self._tree(), _LINGER):
            return ()
        why = "outlived its server" if obeyed else f"still ran {timeout:g} s after SIGTERM"
        left = tuple(f"{process} {why}" for process in self._tree())
        self._order(b"kill\n")
        if not _soon(lambda: not self._tree(), _KILLED):
            for process in self._tree():  # the supervisor does not obey: its server may have stopped it
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            _soon(lambda: not self._tree(), _KILLED)
        return left + tuple(f"{process} survived SIGKILL" for process in self._tree())

    def _bury(self) -> None:
        """Let the supervisor go; the end of its input makes it kill what is left."""
        pipes = [pipe for pipe in (self._supervisor.stdin, self._supervisor.stdout) if pipe is not None]
        for pipe in pipes:
            pipe.close()
        try:
            self._supervisor.wait(_KILLED)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        _remove(self._home)

    def _tree(self) -> tuple[supervisor.Running, ...]:
        """Everything below the supervisor; where that was killed, what has this server's home."""
        if self._supervisor.poll() is None:
            return supervisor.descendants(self._supervisor.pid)
        return supervisor.bearers(f"HOME={self._home}")

    def _order(self, word: bytes) -> None:
        with suppress(BrokenPipeError):  # exit_status says that the supervisor is gone
            os.write(_descriptor(self._supervisor.stdin), word)

    def _said_ended(self) -> int | None:
        voice = _descriptor(self._supervisor.stdout)
        while select.select([voice], [], [], 0)[0] and (heard := os.read(voice, 4096)):
            self._heard += heard
        return int(self._heard.split()[1]) if self._heard.endswith(b"\n") else None


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # what a server puts there may be deeper than Python's stack
        subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _descriptor(pipe: IO[bytes] | None) -> int:
    if pipe is None:
        raise TypeError("the supervisor was started without pipes")
    return pipe.fileno()


def _soon(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether ``condition`` came true within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def _supervised(command: list[str], launch: Launch, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    words = [f"{name}={value}" for name, value in environment.items()]
    program = shutil.which(command[0], path=environment.get("PATH")) or command[0]
    launch.log.parent.mkdir(parents=True, exist_ok=True)
    with launch.log.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, *words, "--", program, *command[1:]],
            cwd=launch.bundle,
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
