"""Levels of the x86-64 instruction set (psABI): what a host's processor is promised to have."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

_PREFIX = "x86-64"


class CpuLevel(IntEnum):
    """``x86-64`` is the baseline; v2 adds SSE4.2, v3 AVX2, v4 AVX-512. Printed as compilers spell them."""

    BASELINE = 1
    V2 = 2
    V3 = 3
    V4 = 4

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``x86-64-v3``; ``ValueError`` when it is not such a level."""
        for level in cls:
            if str(level) == text:
                return level
        raise ValueError(f"{text!r} is not one of {', '.join(str(level) for level in cls)}")

    def __str__(self) -> str:
        return _PREFIX if self is CpuLevel.BASELINE else f"{_PREFIX}-v{self.value}"
