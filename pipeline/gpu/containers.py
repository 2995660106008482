"""The bytes of each container of an artifact again: from files by offset, from archives by a second walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import View, open_view
from pipeline.errors import InfrastructureError
from pipeline.formats.budgets import STANDARD
from pipeline.formats.fatbin import ContainerReader, EntryNames
from pipeline.formats.payload import Glance
from pipeline.inventory.image_names import is_folder_image
from pipeline.inventory.layout import image_platform, read_layout
from pipeline.inventory.ledger import Ledger
from pipeline.inventory.tree import TreeFile, list_tree
from pipeline.inventory.walk import Walk
from pipeline.inventory.zips import walk_members
from pipeline.model.paths import MemberPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pipeline.formats.facts import BareImage, FatbinFacts
    from pipeline.formats.pkzip import ZipMember
    from pipeline.formats.recognize import Kind
    from pipeline.formats.stream import Stream

    Give = Callable[[MemberPath, bytes], None]


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """Where a container lies in its member; ``size`` is -1 for a member that is itself the image."""

    offset: int
    size: int
    container: MemberPath


@dataclass(frozen=True, slots=True)
class Pieces:
    """The containers that are wanted, by the member they lie in."""

    by_member: Mapping[MemberPath, tuple[Piece, ...]]

    @classmethod
    def of(cls, fatbins: Iterable[FatbinFacts], bare: Iterable[BareImage]) -> Pieces:
        """The pieces of these containers, in the order in which they lie."""
        found: dict[MemberPath, list[Piece]] = {}
        for fatbin in fatbins:
            member = MemberPath(fatbin.path.parts[: -2 if fatbin.section else -1])
            found.setdefault(member, []).append(Piece(fatbin.offset, fatbin.size, fatbin.path))
        for image in bare:
            found.setdefault(image.path, []).append(Piece(0, -1, image.path))
        return cls({member: tuple(sorted(pieces)) for member, pieces in found.items()})

    @property
    def count(self) -> int:
        """How many containers there are."""
        return sum(len(pieces) for pieces in self.by_member.values())

    @property
    def way(self) -> frozenset[MemberPath]:
        """The members that hold a piece, and every archive around them."""
        return frozenset(
            MemberPath(member.parts[:depth]) for member in self.by_member for depth in range(1, len(member.parts) + 1)
        )


def pour(path: Path, pieces: Pieces, give: Give) -> None:
    """Give the bytes of every piece, one after the other as they lie in the artifact.

    ``InfrastructureError`` when some are not there any more.
    """
    given = 0

    def count(container: MemberPath, image: bytes) -> None:
        nonlocal given
        given += 1
        give(container, image)

    root = MemberPath((str(path),))
    if path.is_dir():
        _pour_tree(path, root, pieces, count)
    else:
        _pour_file(path, root, pieces, count)
    if given != pieces.count:
        raise InfrastructureError(f"{path} has changed: {pieces.count - given} containers are not there any more")


def _pour_tree(path: Path, root: MemberPath, pieces: Pieces, give: Give) -> None:
    """Only the files that hold something, or that hold members that do."""
    entries = sorted(list_tree(path), key=lambda entry: entry.name)
    files = frozenset(entry.name for entry in entries if isinstance(entry, TreeFile))
    if is_folder_image(files):
        read_layout(_SecondWalk(_unread(), pieces=pieces, give=give, way=pieces.way), path, files, root)
    wanted = {member.parts[1] for member in pieces.by_member}
    for entry in entries:
        if isinstance(entry, TreeFile) and entry.name in wanted:
            _pour_file(path / entry.name, root.child(entry.name), pieces, give)


def _pour_file(path: Path, place: MemberPath, pieces: Pieces, give: Give) -> None:
    with open_view(path) as view:
        if place in pieces.by_member:
            _cut(view, pieces.by_member[place], give)
        else:
            _SecondWalk(_unread(), pieces=pieces, give=give, way=pieces.way).visit(view, place)


def _unread() -> Ledger:
    """A ledger for a walk whose findings are known already."""
    reader = ContainerReader(EntryNames(STANDARD.all_entries), Glance(STANDARD), STANDARD)
    return Ledger(STANDARD, reader, deep=False, platform=image_platform())


def _nothing(_container: MemberPath, _image: bytes) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _SecondWalk(Walk):
    """The same way through the archives; at an image it cuts out what is wanted instead of reading facts.

    It is one thread: containers are given one after the other.
    """

    pieces: Pieces = field(default_factory=lambda: Pieces({}))
    give: Give = _nothing
    way: frozenset[MemberPath] = frozenset()

    def _image(self, kind: Kind, content: View | Stream, path: MemberPath) -> None:  # noqa: ARG002
        _cut(content, self.pieces.by_member.get(path, ()), self.give)

    def visit_file(self, content: View | Stream, path: MemberPath) -> None:
        """Enter only what leads to a piece."""
        if path in self.way:
            self.visit(content, path)
        if not isinstance(content, View):
            content.drain()

    def visit_zip(self, view: View, members: dict[str, ZipMember], path: MemberPath) -> None:
        """Walk only the members that lead to a piece, one after the other."""
        wanted = {name: member for name, member in members.items() if path.child(name) in self.way}
        walk_members(view, wanted, path, self)


def _cut(content: View | Stream, wanted: tuple[Piece, ...], give: Give) -> None:
    for piece in wanted:
        if isinstance(content, View):
            size = content.size if piece.size < 0 else piece.size
            give(piece.container, content.read(piece.offset, size))
        elif piece.size < 0:
            give(piece.container, b"".join(content.rest()))
        else:
            content.skip(piece.offset - content.offset)
            give(piece.container, content.take(piece.size))
