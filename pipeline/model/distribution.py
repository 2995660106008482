"""A Python distribution as an environment holds it: who it says it is, and which of the files read are its own."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a distribution asks for: a normalized name, and the version where exactly one will do (``==``)."""

    name: str
    pin: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """``name`` is normalized; ``version`` empty where nothing says it. ``path`` is printed, that of its metadata.

    ``environment`` is the container that it shares with others: what loads together. ``members`` are the printed paths
    of those ELF files, device-code files and CUDA libraries that it brought; ``unread`` says why some of it was not
    looked at (an editable installation, files that are links out of the input), ``flaws`` what is wrong with its
    metadata. ``tags`` are those of its wheel (``cp311-cp311-manylinux_2_28_x86_64``). ``claimed`` is false for files
    that no metadata speaks for, under the name of their folder. ``sha256`` and ``size`` are those of a streamed wheel.
    """

    name: str
    version: str
    path: str
    environment: str
    members: frozenset[str] = field(default=frozenset(), repr=False)
    requires: tuple[Requirement, ...] = ()
    tags: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    claimed: bool = True
    sha256: str = ""
    size: int = 0

    @property
    def label(self) -> str:
        """``torch 2.8.0``."""
        return f"{self.name} {self.version}".strip()
