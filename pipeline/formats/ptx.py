"""PTX text: its ISA version and target, read from the first directives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.binary import FormatError
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.versions import PtxVersion

# Possessive, so that a long run of blanks is not tried in every way to split it.
_BLANK = rb"(?:[\s\0]++|//[^\n]*+|/\*.*?\*/)*+"
_GAP = rb"(?:[\s\0]++|//[^\n]*+|/\*.*?\*/)++"
_VERSION = re.compile(_BLANK + rb"\.version" + _GAP + rb"([0-9]{1,3})\.([0-9]{1,3})", re.DOTALL)
_TARGET = re.compile(_BLANK + rb"\.target" + _GAP + rb"(?:sm|compute)_([0-9]{2,3}[af]?)", re.DOTALL)
_REST = re.compile(rb"(?:[\s\0]++|//[^\n]*+|/\*.*?(?:\*/|\Z))*+(?:/|\.[a-z]*)?", re.DOTALL)
_MAX_BANNER = 16 << 10


@dataclass(frozen=True, slots=True)
class PtxFacts:
    """The two directives that decide which driver and which GPU can compile the text."""

    version: PtxVersion
    target: TargetArch


def looks_like_ptx(head: bytes) -> bool:
    """Whether ``.version`` and ``.target`` are the first directives, after nothing but comments and white space.

    Without ``.target`` no assembler takes it, so that it may be any text.
    """
    start = head[:_MAX_BANNER]
    version = _VERSION.match(start) if b".version" in start else None
    if version is None:
        return False
    return _TARGET.match(start, version.end()) is not None or _goes_on(start, version.end())


def _goes_on(start: bytes, at: int) -> bool:
    """Whether what was looked at ends in the blanks and comments before the next directive."""
    return len(start) == _MAX_BANNER and _REST.fullmatch(start, at) is not None


def read_ptx(head: bytes) -> PtxFacts:
    """Read the first directives; ``FormatError`` where ``.version`` or ``.target`` is not where PTX wants it."""
    version = _VERSION.match(head)
    if version is None:
        raise FormatError("PTX without .version at its start")
    target = _TARGET.match(head, version.end())
    if target is None:
        raise FormatError("PTX without .target after .version")
    return PtxFacts(
        PtxVersion(f"{int(version[1])}.{int(version[2])}"),
        TargetArch.of(target[1].decode(), ArchKind.VIRTUAL),
    )


def check_packed_ptx(content: bytes) -> None:
    """``FormatError`` unless this can be an entry's text; packers of 12.x leave ``.version`` to the entry's header."""
    version = _VERSION.match(content)
    if _TARGET.match(content, version.end() if version else 0) is None:
        raise FormatError("PTX without .target at its start")


def whole_text(content: bytes, version: PtxVersion | None) -> bytes:
    """An entry's text as a driver gives it to its compiler: no zeros at its end, ``.version`` where it lacks one.

    Packers leave it out and keep the end of its line; it goes back there, so that line numbers are those of the source.
    """
    text = content.rstrip(b"\0")
    if version is None or _VERSION.match(text) is not None:
        return text
    return f".version {version}".encode() + (text if text[:1].isspace() else b" " + text)
