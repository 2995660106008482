"""The walk: recognize a member, give it to its format, go on with its children."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from pipeline.binary import FormatError, View
from pipeline.formats import elf
from pipeline.formats.facts import EntryKind, LoaderConf, MetadataFile, Opaque
from pipeline.formats.loader_conf import is_loader_conf, read_loader_conf
from pipeline.formats.package_metadata import is_package_metadata, read_package_metadata
from pipeline.formats.recognize import HEAD, Kind, recognize
from pipeline.formats.stream import Stream, ViewStream
from pipeline.inventory import images
from pipeline.inventory.holding import fits, whole

if TYPE_CHECKING:
    from pipeline.formats.pkzip import ZipMember
    from pipeline.inventory.ledger import Ledger
    from pipeline.model.paths import MemberPath

_IMAGE_LAYER = re.compile(r"(?:.*/)?(?:layer\.tar|blobs/sha256/[0-9a-f]{64})")
_UNLINKED = {Kind.LTO_IR: EntryKind.LTO_IR, Kind.TILE_IR: EntryKind.TILE_IR}
_IMAGES = {Kind.ELF, Kind.CUBIN, Kind.FATBIN, Kind.PTX, *_UNLINKED}
_ARCHIVES = {Kind.AR, Kind.DEB, Kind.TAR, Kind.ZIP, Kind.COMPRESSED}


@dataclass(frozen=True, slots=True)
class Walk:
    """Where the walk stands: how deep, and whether the archive around it is a file system.

    A file system (a Debian package, an image layer) may hold device nodes and links to absolute paths; in
    any other archive they are hostile.
    """

    ledger: Ledger
    depth: int = 0
    rooted: bool = False

    def visit(self, content: View | Stream, path: MemberPath) -> str:
        """Walk one member and all that is in it; return its format's name. Damage is noted, never raised."""
        kind = Kind.DATA
        try:
            head = content.head(HEAD) if isinstance(content, View) else content.peek(HEAD)
            kind = recognize(head)
            return self._visit(kind, head, content, path)
        except FormatError as error:
            self.ledger.damage(path, error.message)
            return kind.value

    def visit_file(self, content: View | Stream, path: MemberPath) -> None:
        """Walk a regular file found in an archive or directory, counting it."""
        content = content.left() if isinstance(content, ViewStream) else content
        if self.ledger.full:
            raise FormatError(f"more than {self.ledger.budgets.members} members")
        self.ledger.members += 1
        self.visit(content, path)
        if isinstance(content, Stream):
            content.drain()
        self.ledger.file(path, content.size if isinstance(content, View) else content.offset)

    def _visit(self, kind: Kind, head: bytes, content: View | Stream, path: MemberPath) -> str:
        if kind in _ARCHIVES:
            return self._enter(kind, content, path)
        if kind in _IMAGES:
            self._image(kind, content, path)
            return kind.value
        if kind in {Kind.DATA, Kind.PE}:
            from pipeline.inventory.appended import enter_appended

            found = enter_appended(head, content, path, self.ledger, self._enter)
            if found:
                return found
        if kind is Kind.DATA and is_loader_conf(path.name):
            self.ledger.loader_confs.append(LoaderConf(path, read_loader_conf(head)))
        elif kind is Kind.DATA and is_package_metadata(path.name):
            self.ledger.metadata.append(MetadataFile(path, read_package_metadata(path.name, content)))
        size = content.size if isinstance(content, View) else content.drain()
        what = elf.foreign(head) if kind is Kind.FOREIGN_ELF else None
        self.ledger.opaque.append(Opaque(path, what or kind.value, size))
        return kind.value

    def _image(self, kind: Kind, content: View | Stream, path: MemberPath) -> None:
        """Give an ELF file or device code to its reader, through the sieve when it is a stream too large to hold."""
        ledger, reader = self.ledger, self.ledger.reader
        if kind in {Kind.ELF, Kind.FATBIN} and isinstance(content, Stream) and not fits(content, ledger.budgets):
            from pipeline.formats.sieve import sift

            content, recalled = sift(content, reader)
            reader = replace(reader, inspect=recalled)
        elif kind in {Kind.ELF, Kind.FATBIN}:
            content = whole(content, ledger.budgets)
            reader = replace(reader, inspect=reader.inspect.of_file(content.size))
        match kind:
            case Kind.ELF:
                view = whole(content, ledger.budgets)
                images.visit_elf(view, path, ledger, reader)
                self._behind(view, path)
            case Kind.FATBIN:
                images.visit_fatbin(whole(content, ledger.budgets), path, ledger, reader)
            case Kind.CUBIN:
                images.visit_cubin(whole(content, ledger.budgets), path, ledger)
            case Kind.PTX:
                images.visit_ptx(content, path, ledger)
            case _:
                images.visit_unlinked(_UNLINKED[kind], content, path, ledger)

    def _behind(self, view: View, path: MemberPath) -> None:
        """Walk the zip archive that may follow a program."""
        from pipeline.inventory.appended import enter_zip_behind

        enter_zip_behind(view, path, self._enter)

    def _enter(self, kind: Kind, content: View | Stream, path: MemberPath) -> str:
        if self.depth >= self.ledger.budgets.nesting:
            raise FormatError(f"archives nested more than {self.ledger.budgets.nesting} deep")
        inside = replace(self, depth=self.depth + 1, rooted=self.rooted or _is_rooted(kind, path))
        from pipeline.inventory.archives import enter  # a library alone needs none of it

        return enter(kind, content, path, inside)

    def visit_zip(self, view: View, members: dict[str, ZipMember], path: MemberPath) -> None:
        """Walk members of a zip archive."""
        from pipeline.inventory.zips import walk_lanes

        walk_lanes(view, members, path, self)

    def inside_layer(self, ledger: Ledger) -> Self:
        """The same one level deeper, in a file system, writing to another ledger."""
        return replace(self, ledger=ledger, depth=self.depth + 1, rooted=True)

    def beside(self, ledger: Ledger) -> Self:
        """The same in another thread, writing to another ledger."""
        return replace(self, ledger=ledger)


def _is_rooted(kind: Kind, path: MemberPath) -> bool:
    return kind is Kind.DEB or (len(path.parts) > 1 and _IMAGE_LAYER.fullmatch(path.name) is not None)
