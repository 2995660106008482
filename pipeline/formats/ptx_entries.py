"""Entry functions of PTX text, with the shared memory and block size that the text declares."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from heapq import merge
from math import prod
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.formats.facts import KernelFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.kernels import KernelNames

# Patterns with a literal start, which the regular expression engine finds without looking at every instruction.
_ENTRY = re.compile(rb"\.entry\s+(?P<entry>[A-Za-z_$%][A-Za-z0-9_$]*+)(?P<bounds>[^{;]*+)")
_SHARED = re.compile(
    rb"\.shared\s+(?:\.align\s+(?P<align>[0-9]{1,6})\s+)?\.[a-z](?P<bits>8|16|32|64|128)\s+"
    rb"(?P<name>[A-Za-z_$%][A-Za-z0-9_$]*+)(?P<sizes>(?:\s*\[[0-9]{0,12}\]){0,8})"
)
_EXTERN = re.compile(rb"\.extern\s+$")
_LINE_COMMENT = re.compile(rb"//[^\n]*+")
_BOUNDS = re.compile(rb"\.(maxntid|reqntid)\s+([0-9]{1,9}(?:\s*,\s*[0-9]{1,9}){0,2})")
_MOST = 100_000
_NUMBER = re.compile(rb"[0-9]+")
_NAME = re.compile(rb"(?<![A-Za-z0-9_$%.])[A-Za-z_$%][A-Za-z0-9_$]*+(?!\.)")


@dataclass(slots=True)
class _Entry:
    name: bytes
    block: tuple[int | None, bool]
    start: int
    end: int = 0
    shared: int = 0

    def add(self, size: int, align: int) -> None:
        self.shared = (self.shared + align - 1) // align * align + size


@dataclass(slots=True)
class _Text:
    """What was found so far, and where in the text the reader stands."""

    text: bytes
    entries: list[_Entry] = field(default_factory=list)
    common: list[tuple[bytes, int, int]] = field(default_factory=list)
    at: int = 0
    depth: int = 0

    def read(self) -> None:
        """Go through the text once; ``FormatError`` when it has more than a compiler writes."""
        found = (_ENTRY.finditer(self.text), _SHARED.finditer(self.text))
        for token in merge(*found, key=lambda token: token.start()):
            if max(len(self.entries), len(self.common)) > _MOST:
                raise FormatError(f"more than {_MOST} kernels or shared variables in one PTX text")
            self._go_to(token.start())
            if token.re is _ENTRY:
                self._end_entry(token.start())
                self.entries.append(_Entry(token["entry"], _threads(token["bounds"]), token.end()))
            elif not _EXTERN.search(self.text, max(token.start() - 64, 0), token.start()):
                self._shared(token)
        self._end_entry(len(self.text))

    def _go_to(self, place: int) -> None:
        """Follow the nesting of braces; vectors such as {%f1, %f2} balance."""
        self.depth += self.text.count(b"{", self.at, place) - self.text.count(b"}", self.at, place)
        self.at = place
        if self.depth <= 0:
            self._end_entry(place)

    def _end_entry(self, place: int) -> None:
        if self.entries and not self.entries[-1].end and place > self.entries[-1].start:
            self.entries[-1].end = place

    def _shared(self, token: re.Match[bytes]) -> None:
        width = int(token["bits"]) // 8
        size = width * prod(int(number) for number in _NUMBER.findall(token["sizes"]))
        align = max(int(token["align"] or 1), width, 1)
        if self.depth > 0 and self.entries and not self.entries[-1].end:
            self.entries[-1].add(size, align)
        elif self.depth <= 0:
            self.common.append((token["name"], size, align))


def ptx_kernels(text: bytes, names: KernelNames) -> tuple[KernelFacts, ...]:
    """The entry functions of PTX text; ``FormatError`` when there are more than an artifact may have."""
    if b".entry" not in text:
        return ()
    found = _Text(_LINE_COMMENT.sub(b"", _without_blocks(text)))
    found.read()
    return names.collect(_kernels(found, names))


def _without_blocks(text: bytes) -> bytes:
    """The text without ``/* */``; one that does not end stays, as a pattern would take forever to find out."""
    kept, at = [], 0
    while (start := text.find(b"/*", at)) >= 0 and (end := text.find(b"*/", start + 2)) >= 0:
        kept.append(text[at:start])
        at = end + 2
    return b" ".join((*kept, text[at:])) if kept else text


def _kernels(found: _Text, names: KernelNames) -> Iterator[KernelFacts]:
    common = {name: (place, size, align) for place, (name, size, align) in enumerate(found.common)}
    for entry in found.entries:
        used = set(_NAME.findall(found.text, entry.start, entry.end)) if common else set[bytes]()
        for _, size, align in sorted(common[name] for name in used & common.keys()):
            entry.add(size, align)
        threads, exact = entry.block
        yield KernelFacts(names.name(entry.name), static_shared=entry.shared, threads=threads, exact=exact)


def _threads(bounds: bytes) -> tuple[int | None, bool]:
    """Threads of the largest block, and whether every block must be of that size."""
    declared = {
        found[1]: prod(int(number) for number in _NUMBER.findall(found[2])) for found in _BOUNDS.finditer(bounds)
    }
    return declared.get(b"reqntid", declared.get(b"maxntid")), b"reqntid" in declared
