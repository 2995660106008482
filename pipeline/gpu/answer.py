"""What loading one container once gave, and the words for what is no CUDA error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SUCCESS = "CUDA_SUCCESS"
JIT_DISABLED = "CUDA_ERROR_JIT_COMPILATION_DISABLED"


class NoAnswer(StrEnum):
    """Results that the driver could not put into words itself."""

    CRASHED = "PROCESS_CRASHED"
    TIMED_OUT = "PROCESS_TIMED_OUT"
    NOT_TRIED = "NOT_TRIED"


@dataclass(frozen=True, slots=True)
class Answer:
    """One result: a CUDA error name or a ``NoAnswer``.

    ``seconds`` is the time of the call, ``jit_seconds`` what the driver's JIT says it took of that (0 where it says
    nothing). ``healthy`` tells whether the process was still good for another container. ``detail`` are the JIT's
    words, how a process died, or what another process answered first.
    """

    result: str
    seconds: float = 0.0
    jit_seconds: float = 0.0
    healthy: bool = True
    detail: str = ""

    @property
    def loaded(self) -> bool:
        """Whether the module loaded."""
        return self.result == SUCCESS
