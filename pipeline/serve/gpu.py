"""Did the GPU do it? Two signals that know nothing of each other: the server's own words, and the card's memory.

A server that quietly computes on the CPU answers correctly, so the answer alone proves nothing.
"""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Self

from pipeline.errors import InfrastructureError
from pipeline.serve import nvml
from pipeline.serve.outcome import CheckFailed, Fault
from pipeline.serve.signals import MemorySeen, Statement, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import TracebackType

# llama.cpp's words, src/llama-model.cpp: load_tensors.
_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
_BUFFER = re.compile(r"\bCUDA\d+ model buffer size = *([0-9.]+) MiB")
LEAST_TAKEN = 8 << 20
"""Bytes that a server takes of a card at least: a CUDA context alone is hundreds of megabytes."""
MAY_STAY = 32 << 20
"""Bytes that may be missing after the end: the driver gives back memory in large pieces, not all at once."""
_ANSWER = 15.0  # seconds that the driver may take
_GIVES_BACK = 3.0
_POLL = 0.05


def statement(log: str) -> Statement:
    """Read a server's log up to its being ready.

    ``CheckFailed`` where it says that something stayed behind, and where it says nothing: words that have changed are
    no proof.
    """
    offloaded = _OFFLOADED.findall(log)
    if not offloaded:
        raise CheckFailed(Fault.GPU_NOT_STATED, "the server's log does not say how many layers it offloaded to a GPU")
    layers, of = map(int, offloaded[-1])
    if layers != of or not layers:
        raise CheckFailed(Fault.GPU_NOT_USED, f"the server says that it offloaded {layers} of {of} layers to the GPU")
    sizes = _BUFFER.findall(log)
    if not sizes:
        raise CheckFailed(Fault.GPU_NOT_STATED, "the server's log names no model buffer on a CUDA device")
    mebibytes = sum(map(float, sizes))
    if not mebibytes > 0:
        raise CheckFailed(Fault.GPU_NOT_USED, "the server says that its model's buffers on CUDA devices are empty")
    return Statement(layers, of, mebibytes)


class CardWatch:
    """A child that asks NVML about one card. ``InfrastructureError`` from ``look`` where it does not answer."""

    def __init__(self, uuid: str, environment: Mapping[str, str]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", nvml.__file__, uuid],
            env={name: environment[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()

    def look(self) -> Use:
        """The card's memory now; ``InfrastructureError`` when NVML does not say."""
        told = self._asked()
        if "failure" in told:
            raise InfrastructureError(
                f"NVML does not tell the GPU's memory: {told['failure']}",
                remedy="libnvidia-ml.so.1 comes with the driver; in a container it needs the capability utility",
            )
        return Use(int(told["used"]), frozenset(int(row[0]) for row in told["processes"]))

    def _asked(self) -> dict[str, Any]:
        asking, answering = _pipe(self._child.stdin), _pipe(self._child.stdout)
        with suppress(BrokenPipeError):  # it ended, and its last line says why
            asking.write(b"\n")
            asking.flush()
        line, deadline = b"", time.monotonic() + _ANSWER
        while not line.endswith(b"\n"):
            if not select.select([answering], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise InfrastructureError(f"NVML did not answer in {_ANSWER:g} s", remedy="see dmesg for Xid messages")
            piece = answering.read1(1 << 16)  # type: ignore[attr-defined]
            if not piece:
                raise InfrastructureError("the process that asks NVML ended without an answer")
            line += piece
        told: dict[str, Any] = json.loads(line)
        return told


def taken(before: Use, during: Use, server: Collection[int]) -> MemorySeen:
    """Whether the server holds memory of the card: NVML names one of its processes, or there is clearly less free.

    ``CheckFailed`` where neither is so.
    """
    named = not during.processes.isdisjoint(server)
    seen = MemorySeen(before.used, during.used, named)
    if not named and during.used - before.used < LEAST_TAKEN:
        raise CheckFailed(
            Fault.GPU_MEMORY_UNTOUCHED,
            f"the server holds no memory of the GPU: {before.used >> 20} MiB in use before, {during.used >> 20} MiB "
            "while it served, and NVML names none of its processes",
        )
    return seen


def given_back(watch: CardWatch, seen: MemorySeen, server: Collection[int]) -> MemorySeen:
    """Wait a moment until the card's memory is free again; ``CheckFailed`` carries on what is not."""
    deadline = time.monotonic() + _GIVES_BACK
    while True:
        now = watch.look()
        result = MemorySeen(seen.before, seen.during, seen.by_process, now.used)
        alive = not now.processes.isdisjoint(server)
        if not alive and now.used <= seen.before + MAY_STAY:
            return result
        if time.monotonic() > deadline:
            return result
        time.sleep(_POLL)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise TypeError("the child was started without pipes")
    return pipe
