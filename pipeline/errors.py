"""Every way a run ends early, each with its exit status and the reader's next step.

The statuses are fixed by the command-line contract (README, "Exit statuses"). An error is one line on
stderr: what happened, where, and what to do; a traceback is a defect.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitStatus(IntEnum):
    """What the process answers; ``gravest`` orders them when several lanes or files disagree."""

    PASS = 0
    REFUSED = 1
    USAGE = 2
    NOTHING_EXAMINED = 3
    INFRASTRUCTURE = 4
    CORRUPT_INPUT = 5
    INTERRUPTED = 130
    TERMINATED = 143

    @classmethod
    def gravest(cls, statuses: Iterable[ExitStatus]) -> ExitStatus:
        """Return the status that wins over several outcomes; ``PASS`` when there are none."""
        order = (
            cls.TERMINATED,
            cls.INTERRUPTED,
            cls.CORRUPT_INPUT,
            cls.USAGE,
            cls.INFRASTRUCTURE,
            cls.REFUSED,
            cls.NOTHING_EXAMINED,
            cls.PASS,
        )
        return min(statuses, key=order.index, default=cls.PASS)


class CubingateError(Exception):
    """Base of every expected failure: a one-line message, an optional remedy, an exit status."""

    status: ClassVar[ExitStatus] = ExitStatus.INFRASTRUCTURE

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class Refused(CubingateError):
    """The product was judged and found wanting, or its compiler failed."""

    status = ExitStatus.REFUSED


class UsageError(CubingateError):
    """Bad arguments or an invalid matrix.yaml."""

    status = ExitStatus.USAGE


class NothingExamined(CubingateError):
    """No lane selected, or nothing of the required kind in the input."""

    status = ExitStatus.NOTHING_EXAMINED


class InfrastructureError(CubingateError):
    """The engine, the GPU, the network or the disk failed; the product was not judged."""

    status = ExitStatus.INFRASTRUCTURE

    @classmethod
    def of(cls, error: OSError) -> Self:
        """What the operating system refused, where nobody nearer knows what it means."""
        what = error.strerror or str(error) or type(error).__name__
        return cls(f"{error.filename}: {what}" if error.filename else what)


class EngineUnavailable(InfrastructureError):
    """No container engine answers."""


class CorruptInput(CubingateError):
    """The input is truncated, damaged or hostile."""

    status = ExitStatus.CORRUPT_INPUT


class Interrupted(CubingateError):
    """Ctrl-C; the state on disk lets ``run`` go on."""

    status = ExitStatus.INTERRUPTED


class Terminated(CubingateError):
    """SIGTERM; the state on disk lets ``run`` go on."""

    status = ExitStatus.TERMINATED
