"""One of the three passes: container after container through a worker, failures again through another.

A failure counts only when a process that had no part in it fails too: one error that poisons a context would fail
everything after it. A context is asked after each failure whether it is poisoned; a poisoned one is given up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.gpu.answer import Answer, NoAnswer
from pipeline.gpu.child import Child, WorkerLost, WorkerSilent
from pipeline.gpu.greeting import greet, read_greeting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.gpu.greeting import Greeting

_MOST_HANGS = 3
# The card or its driver, not the module: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
INFRASTRUCTURE = frozenset(
    {
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_DEINITIALIZED",
        "CUDA_ERROR_NOT_INITIALIZED",
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "CUDA_ERROR_OPERATING_SYSTEM",
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a worker may take to start the driver, and to load one container."""

    start: float = 60.0
    container: float = 300.0


class Attempts:
    """The workers of one pass. ``fresh`` asks for a process of its own for every repeated container."""

    def __init__(self, environment: Mapping[str, str], *, limits: Limits, fresh: bool) -> None:
        """Start the first worker; ``InfrastructureError`` when no process can be started."""
        self._environment = environment
        self._limits = limits
        self._fresh = fresh
        self._device = -1
        self._stopped = Event()
        self._alive: set[Child] = set()
        self._reserve: Child | None = None
        self._reserve_opened = True
        self._hangs = 0
        self._opened = False
        self._main: Child | None = self._born()

    def greeting(self) -> Greeting:
        """What the first worker found; ``InfrastructureError`` when there is no driver, or it does not start."""
        return read_greeting(self._first(), self._limits.start)

    def use(self, device: int) -> None:
        """Have the first worker open a device, without waiting for it."""
        self._device = device
        self._open(self._first())

    def prepare(self) -> None:
        """Start a second worker beside the first, because failures are foreseen."""
        self._reserve = self._born()
        self._reserve_opened = False
        self._open(self._reserve)

    def _first(self) -> Child:
        if self._main is None:
            raise InfrastructureError("the worker has ended")
        return self._main

    def load(self, image: bytes, expected: str | None) -> Answer:
        """Load one container; what fails is asked again.

        ``InfrastructureError`` when the device and not the module is at fault.
        """
        if self._hangs >= _MOST_HANGS:
            return Answer(NoAnswer.NOT_TRIED, detail=f"{self._hangs} containers of this pass hung before")
        if not self._opened:
            greet(self._first(), self._limits.start)
            self._opened = True
        answer = self._load_main(image)
        if not answer.loaded:
            answer = self._again(image, answer, expected)
        self._hangs += answer.result == NoAnswer.TIMED_OUT
        return answer

    def _load_main(self, image: bytes) -> Answer:
        child = self._main if self._main is not None else self._start()
        answer = _ask(child, image, self._limits.container)
        self._main = self._kept(child, answer)
        return answer

    def _again(self, image: bytes, first: Answer, expected: str | None) -> Answer:
        """Ask a second process; where the two differ, or the failure was not foreseen, one that is new."""
        surprising = expected is not None and first.result != expected
        new = self._fresh or surprising or first.result in INFRASTRUCTURE
        second = self._load_new(image) if new else self._load_reserve(image)
        if second.result == first.result or new:
            return _judged(first, second)
        return _judged(first, self._load_new(image))

    def _load_reserve(self, image: bytes) -> Answer:
        child = self._reserve if self._reserve is not None else self._start()
        if not self._reserve_opened:
            self._wait_for(child)
            self._reserve_opened = True
        answer = _ask(child, image, self._limits.container)
        self._reserve = self._kept(child, answer)
        return answer

    def _load_new(self, image: bytes) -> Answer:
        child = self._start()
        try:
            return _ask(child, image, self._limits.container)
        finally:
            self._bury(child)

    def _start(self) -> Child:
        """A worker with the device open; ``InfrastructureError`` when the driver does not start any more."""
        child = self._born()
        self._open(child)
        self._wait_for(child)
        return child

    def _wait_for(self, child: Child) -> None:
        for _ in ("its greeting", "the device is open"):
            greet(child, self._limits.start)

    def _open(self, child: Child) -> None:
        try:
            child.tell(str(self._device).encode(), self._limits.start)
        except (WorkerLost, WorkerSilent) as error:
            raise InfrastructureError(f"the NVIDIA driver ended its process after its start: {error}") from error

    def _born(self) -> Child:
        if self._stopped.is_set():
            raise InfrastructureError("the load was stopped")
        try:
            child = Child(self._environment)
        except OSError as error:
            raise InfrastructureError(f"cannot start a process: {error.strerror}") from error
        self._alive.add(child)
        if self._stopped.is_set():  # meanwhile, by another thread
            child.kill()
        return child

    def _kept(self, child: Child, answer: Answer) -> Child | None:
        if answer.healthy:
            return child
        self._bury(child)
        return None

    def _bury(self, child: Child) -> None:
        self._alive.discard(child)
        child.end()

    def stop(self) -> None:
        """Kill the workers, so that a thread that waits for one goes on; none is started any more."""
        self._stopped.set()
        for child in tuple(self._alive):
            child.kill()

    def end(self) -> None:
        """Close every worker, when no thread uses one any more."""
        for child in tuple(self._alive):
            self._bury(child)


def _ask(child: Child, image: bytes, seconds: float) -> Answer:
    try:
        child.tell(image, seconds)
        told = child.hear(seconds)
    except WorkerLost as lost:
        return Answer(NoAnswer.CRASHED, healthy=False, detail=str(lost))
    except WorkerSilent:
        return Answer(NoAnswer.TIMED_OUT, seconds, healthy=False, detail=f"no answer in {seconds:g} s")
    return Answer(
        result=str(told["result"]),
        seconds=float(told["seconds"]),
        jit_seconds=float(told["jit_seconds"]),
        healthy=bool(told.get("healthy", True)),
        detail=str(told.get("log", "")),
    )


def _judged(first: Answer, last: Answer) -> Answer:
    """The answer of the process that had nothing before it, told together with a different one."""
    if last.result in INFRASTRUCTURE:
        raise InfrastructureError(
            f"the GPU does not serve: {last.result}", remedy="see what else uses it (nvidia-smi), then run again"
        )
    if last.result == first.result:
        return last
    return replace(last, detail=f"{first.result} at first ({first.detail or 'no words'}); alone, {last.result}")
