"""One of the three passes: container after container through a worker, failures again through another.

A failure counts only when a process that had no part in it fails too: one error that poisons a context would fail
everything after it. A context is asked after each failure whether it is poisoned; a poisoned one is given up.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.gpu.answer import Answer, NoAnswer
from pipeline.gpu.asking import ask, heard, judged, silent
from pipeline.gpu.child import Child, WorkerDeaf, WorkerSilent
from pipeline.gpu.fault import INFRASTRUCTURE
from pipeline.gpu.greeting import greet, read_greeting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from pipeline.gpu.greeting import Greeting
    from pipeline.gpu.settings import Limits

_MOST_HANGS = 3
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class _Task:
    """One container on its way: what it is foreseen to answer, and where the answer goes."""

    image: bytes
    expected: str | None
    answer: Future[Answer]

    @property
    def room(self) -> int:
        """Bytes that it takes in a pipe at most: pages that are not full are not filled up."""
        return len(self.image) + 2 * _PAGE

    def refuse(self) -> None:
        """Say that it will not be loaded any more."""
        self.answer.set_exception(InfrastructureError("the load was stopped"))


class Attempts:
    """The workers of one pass. Containers are told to a worker ahead of its answers as far as its pipe holds them.

    ``decides`` says that this pass decides whether something is missing: then every failure is repeated, else those
    that were not foreseen. ``fresh`` asks for a process of its own for every repeated container.
    """

    def __init__(self, environment: Mapping[str, str], *, limits: Limits, fresh: bool, decides: bool) -> None:
        """Start the first worker; ``InfrastructureError`` when no process can be started."""
        self._environment = environment
        self._limits = limits
        self._fresh = fresh
        self._decides = decides
        self._device = -1
        self._stopped = Event()
        self._alive: set[Child] = set()
        self._reserve: Child | None = None
        self._reserve_opened = True
        self._hangs = 0
        self._coming: SimpleQueue[_Task | None] = SimpleQueue()
        self._line: deque[_Task] = deque()  # without an answer; the first ``_told`` of them have been told
        self._told = 0
        self._finished = False
        self._main: Child | None = self._born()

    def greeting(self) -> Greeting:
        """What the first worker found; ``InfrastructureError`` when there is no driver, or it does not start."""
        return read_greeting(self._first(), self._limits.start)

    def use(self, device: int) -> None:
        """Have the first worker open a device, without waiting for it."""
        self._device = device
        self._open(self._first())

    def prepare(self) -> None:
        """Start a second worker beside the first, because failures are foreseen that will be repeated in it."""
        if self._decides and not self._fresh:
            self._reserve = self._born()
            self._reserve_opened = False
            self._open(self._reserve)

    def _first(self) -> Child:
        if self._main is None:
            raise InfrastructureError("the worker has ended")
        return self._main

    def submit(self, image: bytes, expected: str | None) -> Future[Answer]:
        """Load one container when those before it are done; what fails is asked again.

        The future raises ``InfrastructureError`` when the device and not the module is at fault.
        """
        from concurrent.futures import Future  # not before the workers are started

        task = _Task(image, expected, Future())
        self._coming.put(task)
        if self._stopped.is_set():
            self._refuse_coming()
        return task.answer

    def finish(self) -> None:
        """Say that nothing more is submitted: the driver's end takes time, and other passes load meanwhile."""
        self._coming.put(None)

    def serve(self) -> None:
        """Load what is submitted until ``finish`` or ``stop``, then end the workers; in a thread of its own.

        An error is in the answers too.
        """
        try:
            greet(self._first(), self._limits.start)
            while self._is_something_to_do():
                self._settle(self._line[0])
        except InfrastructureError as error:
            for task in self._line:
                task.answer.set_exception(error)
            self._line.clear()
            raise
        finally:
            self._stopped.set()
            while self._line:
                self._line.popleft().refuse()
            self._refuse_coming()
            self.end()

    def _refuse_coming(self) -> None:
        """Let nobody wait for an answer that will never come."""
        with suppress(Empty):
            while True:
                task = self._coming.get_nowait()
                if task is not None:
                    task.refuse()

    def _is_something_to_do(self) -> bool:
        """Take in what was submitted; wait where nothing is left to do."""
        with suppress(Empty):
            while not self._finished:
                task = self._coming.get(block=not self._line)
                self._finished = task is None
                if task is not None:
                    self._line.append(task)
        return bool(self._line)

    def _settle(self, task: _Task) -> None:
        """The answer of the container that is the next in line."""
        if self._hangs >= _MOST_HANGS:
            answer = Answer(NoAnswer.NOT_TRIED, detail=f"{self._hangs} containers of this pass hung before")
        else:
            answer = self._load_main()
            if not answer.loaded and self._is_repeated(answer, task.expected):
                answer = self._again(task.image, answer, task.expected)
            self._hangs += answer.result == NoAnswer.TIMED_OUT
        self._line.popleft()
        self._told = max(self._told - 1, 0)
        task.answer.set_result(answer)

    def _load_main(self) -> Answer:
        child = self._main if self._main is not None else self._start()
        try:
            self._tell_ahead(child)
            answer = heard(child, self._limits.container)
        except WorkerSilent:
            answer = silent(self._limits.container)
        self._main = self._kept(child, answer)
        if self._main is None:
            self._told = 0
        return answer

    def _tell_ahead(self, child: Child) -> None:
        """Tell the next container, and those after it that the pipe has room for whatever the worker does."""
        left = child.room - sum(self._line[index].room for index in range(self._told))
        with suppress(WorkerDeaf):  # what it said before it ended is heard first
            while self._told < len(self._line) and (
                (left := left - self._line[self._told].room) >= 0 or not self._told
            ):
                child.tell(self._line[self._told].image, self._limits.container)
                self._told += 1

    def _is_repeated(self, answer: Answer, expected: str | None) -> bool:
        return self._decides or not answer.healthy or answer.result != expected

    def _again(self, image: bytes, first: Answer, expected: str | None) -> Answer:
        """Ask a second process; where the two differ, or the failure was not foreseen, one that is new."""
        surprising = expected is not None and first.result != expected
        new = self._fresh or surprising or first.result in INFRASTRUCTURE
        second = self._load_new(image) if new else self._load_reserve(image)
        if second.result == first.result or new:
            return judged(first, second)
        return judged(first, self._load_new(image))

    def _load_reserve(self, image: bytes) -> Answer:
        child = self._reserve if self._reserve is not None else self._start()
        if not self._reserve_opened:
            self._wait_for(child)
            self._reserve_opened = True
        answer = ask(child, image, self._limits.container)
        self._reserve = self._kept(child, answer)
        return answer

    def _load_new(self, image: bytes) -> Answer:
        child = self._start()
        try:
            return ask(child, image, self._limits.container)
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
        except WorkerDeaf:
            return  # its last words say why, and are heard next
        except WorkerSilent as error:
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
        self._coming.put(None)
        for child in tuple(self._alive):
            child.kill()

    def end(self) -> None:
        """Close every worker, when no thread uses one any more: all are killed first, then waited for."""
        for child in tuple(self._alive):
            child.kill()
        for child in tuple(self._alive):
            self._bury(child)
