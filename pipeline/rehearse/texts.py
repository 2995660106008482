"""PTX texts out of an artifact, each once, into files: unpacked within bounds, and whole as a driver makes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.binary import BufferView, FormatError
from pipeline.errors import CubingateError
from pipeline.formats.budgets import STANDARD
from pipeline.formats.payload import unpack
from pipeline.formats.ptx import read_ptx, whole_text
from pipeline.gpu.containers import Pieces, pour
from pipeline.rehearse.wanted import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.formats.facts import EntryFacts, Inventory
    from pipeline.formats.ptx import PtxFacts
    from pipeline.inventory.source import Source
    from pipeline.model.paths import MemberPath

_READ_AGAIN = ("docker-archive", "oci-archive", "oci")


@dataclass(frozen=True, slots=True)
class Kept:
    """A text in a file named by its SHA-256. ``facts`` are its own, which need not be those of the entry's header."""

    path: Path
    sha256: str
    size: int
    facts: PtxFacts


@dataclass(slots=True)
class Texts:
    """Texts below ``folder``, at most ``room`` bytes of them; ``unread`` says of the others what is wrong."""

    folder: Path
    room: int
    kept: dict[Text, Kept] = field(default_factory=dict)
    unread: dict[Text, str] = field(default_factory=dict)
    _files: dict[str, Kept] = field(default_factory=dict)

    def take(self, source: Path | Source, inventory: Inventory, wanted: Iterable[Text]) -> None:
        """Read the wanted texts of one artifact; each ends up in ``kept`` or in ``unread``."""
        places: dict[MemberPath, list[int]] = {}
        for text in dict.fromkeys(wanted):
            places.setdefault(text.container, []).append(text.place)
        if not places:
            return
        if not isinstance(source, Path):
            self._give_up(places, "an engine's image is not read a second time; save it to a file")
            return
        if _is_packed_image(inventory):
            self._give_up(places, "a compressed image archive is not read a second time; unpack it to a .tar")
            return
        fatbins = {fatbin.path: fatbin for fatbin in inventory.fatbins if fatbin.path in places}
        bare = {image.path: image for image in inventory.bare if image.path in places}

        def give(container: MemberPath, content: bytes) -> None:
            fatbin = fatbins.get(container)
            entries = fatbin.entries if fatbin else (bare[container].entry,)
            start = fatbin.offset if fatbin else 0
            self._read(container, places.pop(container), BufferView(content), entries, start)

        try:
            pour(source, Pieces.of(fatbins.values(), bare.values()), give)
        except CubingateError as error:
            self._give_up(places, error.message)
        self._give_up(places, "it is not there any more")

    def _give_up(self, places: dict[MemberPath, list[int]], why: str) -> None:
        for container, indices in places.items():
            self.unread.update({Text(container, index): why for index in indices})
        places.clear()

    def _read(
        self,
        container: MemberPath,
        indices: Sequence[int],
        view: BufferView,
        entries: tuple[EntryFacts, ...],
        start: int,
    ) -> None:
        flat = [(entry, inner) for entry in entries for inner in (entry.nested or (None,))]
        for index in indices:
            text = Text(container, index)
            try:
                self.kept[text] = self._keep(_content(view, *flat[index], start))
            except FormatError as error:
                self.unread[text] = error.message

    def _keep(self, content: bytes) -> Kept:
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self._files:
            facts = read_ptx(content)
            self.room -= len(content)
            if self.room < 0:
                raise FormatError("there is more PTX than a rehearsal takes")
            path = self.folder / f"{sha256}.ptx"
            path.write_bytes(content)
            self._files[sha256] = Kept(path, sha256, len(content), facts)
        return self._files[sha256]


def _content(view: BufferView, entry: EntryFacts, inner: EntryFacts | None, start: int) -> bytes:
    """The text of an entry as the driver gives it to its compiler; ``FormatError``."""
    content = unpack(view, replace(entry, offset=entry.offset - start), STANDARD)
    if inner is not None:
        content = BufferView(content).read(inner.offset, inner.payload_size)
    return whole_text(content, (inner or entry).ptx)


def _is_packed_image(inventory: Inventory) -> bool:
    images = (str(image.path) == inventory.root for image in inventory.images)
    return any(images) and inventory.format not in _READ_AGAIN
