"""Parent of one server, run as a script of its own: it adopts every orphan the server leaves, so none can hide.

Its arguments are ``NAME=VALUE`` words (the server's whole environment), ``--`` and the command. On stdin come the
words ``term`` (SIGTERM to the server) and ``kill`` (SIGKILL to the whole tree); the end of stdin, which is also the
death of the caller, means ``kill`` and leave. On stdout goes ``ended STATUS``, negative for a signal as in
``subprocess``; a command that cannot be executed ends with 127 (absent) or 126, as in a shell. It imports nothing
but the standard library: it is started with ``python -I -S`` and must be there at once.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
FILE_LIMIT = 1 << 30  # bytes of its log or of any file that a server may write: it must not fill the disk
_KILL_ROUNDS = 50  # a tree that forks while it is killed needs several


@dataclass(frozen=True, slots=True)
class Running:
    """A live process: its id, its parent's, and its command line on one line."""

    pid: int
    parent: int
    command: str

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid})"


def descendants(ancestor: int) -> tuple[Running, ...]:
    """Return every live process below ``ancestor``, zombies left out; read from /proc."""
    children: dict[int, list[Running]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (process := _read(folder)) is not None:
            children.setdefault(process.parent, []).append(process)
    found, below = [], [ancestor]
    while below:
        found += (offspring := children.get(below.pop(), []))
        below += [process.pid for process in offspring]
    return tuple(process for process in found if process.command)


def bearers(variable: str) -> tuple[Running, ...]:
    """Return every live process with ``NAME=VALUE`` in its environment: how children without a parent are found."""
    mark, found = f"\0{variable}\0".encode(), []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended while it was read, or is not ours
        if mark in b"\0" + environment and (process := _read(folder)) is not None:
            found.append(process)
    return tuple(process for process in found if process.command)


def _read(folder: Path) -> Running | None:
    """One process; a zombie has no command, ``None`` is one that ended while it was read, or is hidden from us."""
    try:
        stat = (folder / "stat").read_bytes()
        words = (folder / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name in parentheses may hold anything, ")" too: the fields begin after the last one (proc(5)).
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    state, parent = rest.split()[:2]
    line = b" ".join(words).strip() or name
    command = "" if state in {b"Z", b"X"} else line.decode(errors="backslashreplace")
    return Running(int(folder.name), int(parent), " ".join(command.split())[:200])


def _become_subreaper() -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _limit_files() -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = FILE_LIMIT if hard == resource.RLIM_INFINITY else min(FILE_LIMIT, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _spawn(command: list[str], environment: dict[str, str], log: int) -> int:
    """Start the server in a session of its own; its output goes to ``log``, its input is empty."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    descriptors = [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
    ours = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return os.posix_spawn(
        command[0], command, environment, file_actions=descriptors, setsid=True, setsigmask=(), setsigdef=ours
    )


def _say_ended(status: int) -> None:
    os.write(1, f"ended {status}\n".encode())


def _reap(server: int) -> bool:
    """Collect every child that has ended; say so and return ``True`` when the server was among them."""
    ended = False
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == server:
            _say_ended(os.waitstatus_to_exitcode(status))
            ended = True


def _kill_tree(server: int) -> None:
    for _ in range(_KILL_ROUNDS):
        alive = descendants(os.getpid())
        for process in alive:
            _signal(process.pid, signal.SIGKILL)
        if not alive:
            return
        signal.sigtimedwait([signal.SIGCHLD], 0.02)
        _reap(server)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended first


def _watch(server: int) -> None:
    """Serve the words on stdin and collect the dead until stdin ends."""
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    running = not _reap(server)
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if woken in ready:
                os.read(woken, 4096)
                running = not _reap(server) and running
            if 0 in ready:
                words = os.read(0, 4096).split()
                if b"term" in words and running:
                    _signal(server, signal.SIGTERM)
                if b"kill" in words or not words:
                    _kill_tree(server)
                if not words:
                    return


def main(arguments: list[str]) -> int:
    """Start the command, watch it, and leave nothing behind; the log is stderr."""
    divider = arguments.index("--")
    command = arguments[divider + 1 :]
    environment = dict(word.split("=", 1) for word in arguments[:divider])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _become_subreaper()
    _limit_files()
    try:
        server = _spawn(command, environment, log=2)
    except OSError as error:
        os.write(2, f"cannot execute {command[0]}: {error.strerror}\n".encode())
        _say_ended(127 if isinstance(error, FileNotFoundError) else 126)
        os.read(0, 1)
        return 0
    _watch(server)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
