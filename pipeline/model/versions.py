"""Ordered version numbers of the field; ``parse`` and ``str`` are inverses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import total_ordering
from typing import ClassVar, Self

_DOTTED = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class DottedVersion:
    """Numbers separated by dots. Compared number by number, missing ones count as zero; text is kept."""

    text: str
    parts: tuple[int, ...] = field(init=False, repr=False)

    length: ClassVar[range] = range(1, 9)
    what: ClassVar[str] = "version"

    def __post_init__(self) -> None:
        if not _DOTTED.fullmatch(self.text):
            raise ValueError(f"{self.text!r} is not a {self.what}")
        parts = tuple(int(part) for part in self.text.split("."))
        if len(parts) not in self.length:
            raise ValueError(f"{self.text!r} is not a {self.what}")
        object.__setattr__(self, "parts", parts)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``text``; ``ValueError`` when it is not such a version."""
        return cls(text)

    @property
    def key(self) -> tuple[int, ...]:
        """What is compared: the parts without trailing zeros."""
        parts = self.parts
        while parts and parts[-1] == 0:
            parts = parts[:-1]
        return parts

    @property
    def major(self) -> int:
        """The first number."""
        return self.parts[0]

    @property
    def minor(self) -> int:
        """The second number, 0 when absent."""
        return self.parts[1] if len(self.parts) > 1 else 0

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.key == other.key

    def __lt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.key < other.key

    def __hash__(self) -> int:
        return hash((type(self), self.key))

    def __str__(self) -> str:
        return self.text


class DriverVersion(DottedVersion):
    """A Linux driver version such as ``535.288.01``; its first number is the branch (R535)."""

    __slots__ = ()
    length = range(2, 4)
    what = "driver version"

    @property
    def branch(self) -> int:
        """The driver branch: 535 for R535."""
        return self.parts[0]


class ToolkitVersion(DottedVersion):
    """A CUDA toolkit version such as ``12.8`` or ``12.8.1``."""

    __slots__ = ()
    length = range(2, 4)
    what = "toolkit version"


class PtxVersion(DottedVersion):
    """A PTX ISA version such as ``8.7``."""

    __slots__ = ()
    length = range(2, 3)
    what = "PTX ISA version"


class GlibcVersion(DottedVersion):
    """A glibc version such as ``2.34`` (the ``GLIBC_2.34`` symbol versions)."""

    __slots__ = ()
    length = range(2, 4)
    what = "glibc version"


class GlibcxxVersion(DottedVersion):
    """A libstdc++ symbol version such as ``3.4.30`` (``GLIBCXX_3.4.30``)."""

    __slots__ = ()
    length = range(2, 4)
    what = "GLIBCXX version"
