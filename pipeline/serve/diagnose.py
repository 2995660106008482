"""What the log of a failed server says: its end, the CUDA error that decided, and whether its port was taken.

Which sentences mean which error is not known here: the caller gives the look-up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.paths import printable
from pipeline.serve.outcome import Diagnosis

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class NamedError:
    """A CUDA error by its driver API name, and what it means for a released binary."""

    name: str
    meaning: str


# The driver's sentences are also other software's ("out of memory"): they count in lines that speak of CUDA only.
_SPEAKS_OF_CUDA = re.compile(r"cuda|\bcu[A-Z]|\bPTX\b|kernel image", re.IGNORECASE)
_ABORTS = re.compile(r"CUDA error", re.IGNORECASE)  # ggml's and PyTorch's word where they give up
_PORT_TAKEN = re.compile(
    r"address already in use|couldn't bind HTTP server socket|failed to bind|EADDRINUSE", re.IGNORECASE
)


def nothing_named(_line: str) -> NamedError | None:
    """The look-up that knows no error."""
    return None


def diagnose(log_tail: str, named_in: Callable[[str], NamedError | None]) -> Diagnosis:
    """Read the end of a failed server's log, its control characters shown; ``named_in`` finds the error in a line."""
    error = deciding_error(log_tail, named_in)
    shown = "\n".join(printable(line) for line in log_tail.splitlines())
    return Diagnosis(shown, error.name if error else None, error.meaning if error else None)


def deciding_error(log: str, named_in: Callable[[str], NamedError | None]) -> NamedError | None:
    """The first error on a line that says ``CUDA error``, else the last one named anywhere."""
    lines = [line for line in log.splitlines() if _SPEAKS_OF_CUDA.search(line)]
    named = [(line, error) for line in lines if (error := named_in(line)) is not None]
    deciding = [error for line, error in named if _ABORTS.search(line)]
    return deciding[0] if deciding else named[-1][1] if named else None


def port_taken(log: str) -> bool:
    """Whether the server says that somebody else listens where it was told to."""
    return _PORT_TAKEN.search(log) is not None
