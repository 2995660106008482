"""The walk: recognize a member, give it to its format, go on with its children."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.binary import AheadView, BufferView, FormatError, View
from pipeline.formats import ar, compression, elf, pkzip, tar
from pipeline.formats.facts import EntryKind, LoaderConf, MetadataFile, Opaque
from pipeline.formats.loader_conf import is_loader_conf, read_loader_conf
from pipeline.formats.package_metadata import is_package_metadata, read_package_metadata
from pipeline.formats.recognize import HEAD, Kind, recognize
from pipeline.formats.stream import Stream, ViewStream, stream_of
from pipeline.formats.tar import TarKind
from pipeline.inventory import images
from pipeline.inventory.names import leads_out, relative

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.formats.pkzip import ZipMember
    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.parts import Parts
    from pipeline.model.paths import MemberPath

_WHEEL = re.compile(r"[^/]+\.dist-info/WHEEL")
_IMAGE_LAYER = re.compile(r"(?:.*/)?(?:layer\.tar|blobs/sha256/[0-9a-f]{64})")
_CONTENT = "content"
_LARGE = 4 << 20
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
        if kind in {Kind.ELF, Kind.FATBIN} and isinstance(content, Stream) and not self._fits(content):
            from pipeline.formats.sieve import sift

            content, recalled = sift(content, reader)
            reader = replace(reader, inspect=recalled)
        match kind:
            case Kind.ELF:
                images.visit_elf(self._whole(content), path, ledger, reader)
            case Kind.FATBIN:
                images.visit_fatbin(self._whole(content), path, ledger, reader)
            case Kind.CUBIN:
                images.visit_cubin(self._whole(content), path, ledger)
            case Kind.PTX:
                images.visit_ptx(content, path, ledger)
            case _:
                images.visit_unlinked(_UNLINKED[kind], content, path, ledger)

    def _fits(self, content: Stream) -> bool:
        limit = self.ledger.budgets.buffered
        return len(content.peek(limit + 1)) <= limit if content.size is None else content.size <= limit

    def _whole(self, content: View | Stream) -> View:
        """A stream's bytes as a view; ``FormatError`` when they are more than may be held."""
        if isinstance(content, View):
            return content
        if not self._fits(content):
            raise FormatError(f"more than {self.ledger.budgets.buffered} bytes that cannot be read in one pass")
        return BufferView(b"".join(content.rest()))

    def _enter(self, kind: Kind, content: View | Stream, path: MemberPath) -> str:
        if self.depth >= self.ledger.budgets.nesting:
            raise FormatError(f"archives nested more than {self.ledger.budgets.nesting} deep")
        inside = replace(self, depth=self.depth + 1, rooted=self.rooted or _is_rooted(kind, path))
        source = stream_of(content) if isinstance(content, View) else content
        match kind:
            case Kind.TAR:
                return inside.enter_tar(source, path) or kind.value
            case Kind.ZIP:
                return inside.enter_zip(content, path)
            case Kind.COMPRESSED:
                return inside.enter_compressed(source, path)
            case _:
                inside.enter_ar(source, path)
        return kind.value

    def enter_compressed(self, source: Stream, path: MemberPath) -> str:
        """Walk what one compressed stream holds: an archive's members, or a single file called ``content``."""
        which = compression.recognize(source.peek(HEAD))
        if which is None:
            raise FormatError("compressed data that changed while it was read")
        inner = compression.decompressed(source, which, self.ledger.budgets)
        if recognize(inner.peek(HEAD)) is Kind.TAR:
            return f"{self.enter_tar(inner, path) or Kind.TAR.value}.{which.value}"
        self.visit_file(inner, path.child(_CONTENT))
        return which.value

    def enter_tar(self, source: Stream, path: MemberPath) -> str:
        """Walk a tar archive's members; return what kind of container image it is, if any."""
        from pipeline.inventory.parts import Parts

        parts = Parts(self, path)
        try:
            self._tar_members(source, path, parts)
            return parts.conclude()
        finally:
            parts.end()

    def _tar_members(self, source: Stream, path: MemberPath, parts: Parts) -> None:
        names = _Names()
        try:
            for member in tar.read_tar(source, self.ledger.budgets):
                with_name = names.admit(member.name, path, self.ledger, directory=member.kind is TarKind.DIRECTORY)
                for name in with_name:
                    if not parts.take(name, member):
                        self._tar_member(member, name, path.child(name))
        except FormatError:
            parts.give_back()
            raise

    def _tar_member(self, member: tar.TarMember, name: str, place: MemberPath) -> None:
        match member.kind:
            case TarKind.FILE:
                self.visit_file(member.content, place)
            case TarKind.SYMLINK:
                self._link(name, member.link, place)
            case TarKind.HARDLINK:
                target = relative(member.link)
                self.ledger.link(place, posixpath.relpath(target, posixpath.dirname(name) or "."))
            case TarKind.DEVICE | TarKind.FIFO if self.rooted:
                self.ledger.opaque.append(Opaque(place, member.kind.value, 0))
            case TarKind.DIRECTORY:
                pass
            case _:
                self.ledger.damage(place, f"a {member.kind.value}")

    def _link(self, name: str, target: str, place: MemberPath) -> None:
        self.ledger.link(place, target)
        if leads_out(name, target, rooted=self.rooted):
            self.ledger.damage(place, f"a symbolic link that leads out of the archive, to {target[:200]!r}")

    def enter_zip(self, content: View | Stream, path: MemberPath) -> str:
        """Walk a zip archive's members in the order they lie in the file."""
        if isinstance(content, Stream) and not self._fits(content):
            return self._zip_stream(content, path)
        view = self._whole(content)
        members = sorted(pkzip.read_directory(view, self.ledger.budgets), key=lambda row: row.header_at)
        names = _Names()
        admitted = {
            name: member
            for member in members
            for name in names.admit(member.name, path, self.ledger, directory=member.is_directory)
            if not member.is_directory
        }
        self._zip_lanes(view, admitted, path)
        return _zip_format(members)

    def _zip_stream(self, source: Stream, path: MemberPath) -> str:
        """Walk a zip archive too large to hold; only its end tells which members were links or worse."""
        from pipeline.formats.pkzip_stream import ZipStream

        archive, names = ZipStream(source, self.ledger.budgets), _Names()
        for member in archive.members():
            for name in names.admit(member.name, path, self.ledger, directory=member.name.endswith("/")):
                if not member.name.endswith("/"):
                    self.visit_file(member.content, path.child(name))
        rows = archive.directory()
        for row in rows:
            if row.is_symlink or row.is_special:
                self.ledger.damage(
                    path.child(row.name), "a link or special file in a zip archive inside another archive"
                )
        return _zip_format(rows)

    def _zip_lanes(self, view: View, members: dict[str, ZipMember], path: MemberPath) -> None:
        """Walk large members in a second thread: unpacking leaves the interpreter free for the many small ones."""
        large = {name: member for name, member in members.items() if member.packed > _LARGE}
        if not large or len(large) == len(members):
            self.zip_members(view, members, path)
            return
        from concurrent.futures import ThreadPoolExecutor

        small = {name: member for name, member in members.items() if name not in large}
        beside = self.ledger.beside()
        with ThreadPoolExecutor(1) as pool:
            lane = pool.submit(replace(self, ledger=beside).zip_members, view, large, path)
            self.zip_members(view, small, path)
            lane.result()
        self._merge(beside, path, {name: index for index, name in enumerate(members)})

    def _merge(self, beside: Ledger, path: MemberPath, order: dict[str, int]) -> None:
        depth = len(path.parts)
        last = len(order)
        self.ledger.absorb(beside)
        self.ledger.sort(lambda fact: order.get(fact.parts[depth], last) if fact.parts[:depth] == path.parts else -1)

    def zip_members(self, view: View, members: dict[str, ZipMember], path: MemberPath) -> None:
        """Walk these members in their order."""
        ahead = AheadView(view)
        for name, member in members.items():
            self._zip_member(ahead, member, name, path.child(name))

    def _zip_member(self, view: View, member: ZipMember, name: str, place: MemberPath) -> None:
        try:
            content = pkzip.open_member(view, member, self.ledger.budgets)
            if member.is_special:
                self.ledger.damage(place, "a device, pipe or socket")
            elif member.is_symlink:
                self._link(name, _target(content), place)
            else:
                self.visit_file(content, place)
        except FormatError as error:
            self.ledger.damage(place, error.message)

    def enter_ar(self, source: Stream, path: MemberPath) -> None:
        """Walk a static library's or Debian package's members; equal names are usual in libraries."""
        counts: dict[str, int] = {}
        for member in ar.read_ar(source, self.ledger.budgets):
            seen = counts[member.name] = counts.get(member.name, 0) + 1
            self.visit_file(member.content, path.child(member.name if seen == 1 else f"{member.name}#{seen}"))


@dataclass(slots=True)
class _Names:
    """The names an archive has given so far."""

    seen: set[str] = field(default_factory=set)

    def admit(self, raw: str, path: MemberPath, ledger: Ledger, *, directory: bool) -> Iterator[str]:
        """Yield the clean name once; note a hostile or repeated one as damage and yield nothing."""
        try:
            name = relative(raw)
        except FormatError as error:
            ledger.damage(path.child(raw[:4096]), error.message)
            return
        if not directory and name in self.seen:
            ledger.damage(path.child(name), "a second member of the same name")
            return
        if not directory:
            self.seen.add(name)
        yield name


def _zip_format(members: Iterable[ZipMember]) -> str:
    return "whl" if any(_WHEEL.fullmatch(member.name) for member in members) else Kind.ZIP.value


def _target(content: View | Stream) -> str:
    raw = content.head(4096) if isinstance(content, View) else content.peek(4096)
    return raw.decode("utf-8", "surrogateescape")


def _is_rooted(kind: Kind, path: MemberPath) -> bool:
    return kind is Kind.DEB or (len(path.parts) > 1 and _IMAGE_LAYER.fullmatch(path.name) is not None)
