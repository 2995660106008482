"""What a lane promises to run on, and the words that rules and tables share with it; ``lane`` has them too.

A file of its own, because an audit without a matrix needs nothing else of a lane, and each class costs start-up time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion


class Flavour(StrEnum):
    """Whether a lane carries device code."""

    CUDA = "cuda"
    CPU = "cpu"


class Platform(StrEnum):
    """The host instruction set of a lane."""

    X86_64 = "x86_64"
    AARCH64 = "aarch64"


class CompressionMode(StrEnum):
    """The ``--compress-mode`` that nvcc is asked for."""

    NONE = "none"
    SPEED = "speed"
    BALANCE = "balance"
    SIZE = "size"
    DEFAULT = "default"


class Proof(StrEnum):
    """How a promise is known to hold, the strongest first. One never stands for another."""

    PROVEN = "proven"
    """Seen on a GPU of that SM, on a driver of that branch."""
    REHEARSED = "rehearsed"
    """That branch's JIT, or the assembler of its CUDA version, accepted the PTX; no GPU was there."""
    INFERRED = "inferred"
    """Follows from the bytes by the rules."""


@dataclass(frozen=True, slots=True)
class Target:
    """One GPU with one driver that a lane promises to run on, and which proof of it suffices for a release."""

    sm: int
    driver: DriverVersion
    gpu: str | None = None
    suffices: Proof = Proof.PROVEN
    runner: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a release needs to have seen this target on a GPU."""
        return self.suffices is Proof.PROVEN

    @property
    def checks(self) -> tuple[str, str]:
        """The checks that prove it."""
        return (f"load@{self.label}", f"smoke@{self.label}")

    @property
    def rehearsal(self) -> str:
        """The check that rehearses it."""
        return f"rehearse@{self.label}"

    @property
    def asked(self) -> tuple[str, ...]:
        """The checks that a release needs for what suffices; an inferred target has none besides the audit."""
        return {Proof.PROVEN: self.checks, Proof.REHEARSED: (self.rehearsal,), Proof.INFERRED: ()}[self.suffices]

    @property
    def compilation(self) -> str:
        """The check that compiles for it what its users' machines compile."""
        return f"jit@{self.label}"

    @property
    def label(self) -> str:
        """The contract's spelling: ``80@535.288.01``."""
        return f"{self.sm}@{self.driver}"
