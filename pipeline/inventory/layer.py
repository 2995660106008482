"""Read one layer of an image: what it changes, what is in its files, and its digests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, View
from pipeline.formats import compression, tar
from pipeline.formats.facts import Opaque
from pipeline.formats.recognize import HEAD
from pipeline.formats.stream import Stream, stream_of
from pipeline.formats.tar import TarKind
from pipeline.formats.whiteout import NameKind, layer_name
from pipeline.inventory.names import relative
from pipeline.inventory.overlay import Change, ChangeKind, Changes

if TYPE_CHECKING:
    from pipeline.formats.tar import TarMember
    from pipeline.inventory.digester import Digest, Digester
    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath

_MEMBERS_PER_FILE = 4
_AGAIN = "\0"
"""Parts a name from its count where a layer has it more than once: no name in an archive has this character."""


@dataclass(frozen=True, slots=True)
class Before:
    """How many regular files and members of all kinds other layers of the artifact have had: budgets are for all."""

    files: int = 0
    members: int = 0


@dataclass(slots=True)
class Layer:
    """What was read of a layer. ``ledger`` holds the facts of its files, each below ``place`` and its key.

    ``members`` counts everything, folders and whiteouts too. ``flaw`` says why it could not be read to its end.
    ``blob`` is the digest of its bytes as they are stored, ``diff`` that of the archive in them: both are asked for
    last.
    """

    place: MemberPath
    ledger: Ledger
    changes: Changes = field(default_factory=Changes)
    flaw: str = ""
    size: int = 0
    blob: Digest | None = None
    diff: Digest | None = None
    members: int = 0

    def key_of(self, path: MemberPath) -> str:
        """The key of the member that a fact is about; empty for the layer itself."""
        depth = len(self.place.parts)
        return path.parts[depth] if len(path.parts) > depth else ""


def read_layer(walk: Visitor, content: View | Stream, place: MemberPath, digester: Digester, before: Before) -> Layer:
    """Read a layer to its end, compressed or not; what is wrong with it is in the answer, never raised."""
    layer = Layer(place, walk.ledger.beside())
    layer.ledger.members = walk.ledger.members + before.files
    inside = walk.inside_layer(layer.ledger)
    stream, blob = _watched(content, digester)
    try:
        reader = LayerReader(inside, layer, _MEMBERS_PER_FILE * walk.ledger.budgets.members - before.members)
        layer.diff = _read_archive(reader, stream, blob, digester)
        stream.drain()
        layer.size = stream.offset
        layer.blob = blob
    except FormatError as error:
        layer.flaw = error.message
    layer.ledger.members -= walk.ledger.members + before.files
    return layer


def _watched(content: View | Stream, digester: Digester) -> tuple[Stream, Digest]:
    if isinstance(content, View):
        return stream_of(content), digester.of(content)
    return digester.passing(content)


def _read_archive(reader: LayerReader, stream: Stream, blob: Digest, digester: Digester) -> Digest:
    """Read the archive and return its digest, which is the blob's where that is not compressed."""
    which = compression.recognize(stream.peek(HEAD))
    if which is None:
        reader.read(stream)
        return blob
    unpacked = compression.decompressed(stream, which, reader.walk.ledger.budgets)
    inner, diff = digester.passing(unpacked)
    reader.read(inner)
    inner.drain()
    return diff


@dataclass(slots=True)
class LayerReader:
    """Goes through a layer's archive and notes what it finds."""

    walk: Visitor
    layer: Layer
    most: int
    _counts: dict[str, int] = field(default_factory=dict)

    def read(self, archive: Stream) -> None:
        """Read all members; ``FormatError`` when the archive is damaged or has too many."""
        if not archive.peek(1):
            raise FormatError("an empty layer: not even the end of an archive")
        for member in tar.read_tar(archive, self.walk.ledger.budgets):
            self.layer.members += 1
            if self.layer.members > self.most:
                raise FormatError("too many members in the layers of one image")
            try:
                self._member(member)
            except FormatError as error:
                if self.walk.ledger.full:
                    raise
                self.walk.ledger.damage(self.layer.place, f"{error.message}: {member.name[:200]!r}")

    def _member(self, member: TarMember) -> None:
        name = layer_name(relative(member.name.lstrip("/")))
        changes = self.layer.changes
        match name.kind:
            case NameKind.WHITEOUT:
                changes.whiteouts.add(name.path)
            case NameKind.OPAQUE:
                changes.opaque.add(name.path)
            case NameKind.MEMBER:
                self._addition(member, name.path)
            case NameKind.BOOKKEEPING:
                pass

    def _addition(self, member: TarMember, path: str) -> None:
        additions = self.layer.changes.additions
        if member.kind is TarKind.DIRECTORY:
            additions.append(Change(path, ChangeKind.FOLDER))
        elif not path:
            raise FormatError(f"a root that is a {member.kind.value}")
        elif member.kind is TarKind.HARDLINK:
            relative(member.link.lstrip("/"))
            additions.append(Change(path, ChangeKind.HARD_LINK, link=member.link))
        else:
            key = self._key(path)
            additions.append(Change(path, ChangeKind.CONTENT, key))
            self._content(member, self.layer.place.child(key))

    def _content(self, member: TarMember, place: MemberPath) -> None:
        ledger = self.walk.ledger
        match member.kind:
            case TarKind.FILE:
                self.walk.visit_file(member.content, place)
            case TarKind.SYMLINK:
                ledger.link(place, member.link)
            case TarKind.DEVICE | TarKind.FIFO:
                ledger.opaque.append(Opaque(place, member.kind.value, 0))
            case _:
                ledger.damage(place, f"a {member.kind.value}")

    def _key(self, path: str) -> str:
        """The path, made unlike all before it: of several members of one name only the last is there in the end."""
        seen = self._counts[path] = self._counts.get(path, 0) + 1
        return path if seen == 1 else f"{path}{_AGAIN}{seen}"
