"""Where an image's parts lie: documents by name, and layers, which a stream has read before it is known of what."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pipeline.binary import BufferView, FormatError, View, open_view
from pipeline.formats import compression, oci, tar
from pipeline.formats.recognize import HEAD
from pipeline.formats.stream import Stream, ViewStream
from pipeline.inventory.image_names import INDEX, LAYOUT, SAVED
from pipeline.inventory.layer import Before, Layer, read_layer

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from pipeline.inventory.digester import Digester
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath

_LONGEST_LINK_CHAIN = 8
_ALL_DOCUMENTS = 128 << 20


class Store(Protocol):
    """An archive or directory that has an image's parts in it."""

    def document(self, name: str) -> bytes | None:
        """A JSON document, ``None`` where there is none of that name; ``FormatError`` when it is too large."""
        ...

    def layer(self, name: str, place: MemberPath) -> Layer | None:
        """A layer, read below ``place``; ``None`` where there is none of that name."""
        ...


@dataclass(slots=True)
class ArchiveStore:
    """Collects the parts of an image while its archive goes by.

    Members of a file are read when they are asked for; those of a stream at once, small ones as documents, archives
    as layers, below the place they have in the archive.
    """

    walk: Visitor
    path: MemberPath
    digester: Digester
    documents: dict[str, bytes] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    layers: dict[str, Layer] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    @property
    def is_image(self) -> bool:
        """Whether the root of an image has been seen, of either kind, beside something that could be part of one."""
        rest = (self.documents.keys() | self.views.keys() | self.layers.keys()) - {SAVED, INDEX, LAYOUT}
        names = self.documents.keys() | self.views.keys()
        return {INDEX, LAYOUT} <= names or (SAVED in names and (bool(rest) or self._lists_images()))

    def _lists_images(self) -> bool:
        try:
            return bool(oci.parse_saved(self.document(SAVED) or b""))
        except FormatError:
            return False

    @property
    def format(self) -> str:
        """The archive's kind, as skopeo calls it."""
        names = self.documents.keys() | self.views.keys()
        return "docker-archive" if SAVED in names else "oci-archive"

    def collect(self, name: str, content: Stream) -> None:
        """Keep a part, or read it at once where it cannot be read later."""
        if isinstance(content, ViewStream):
            self.views[name] = content.left()
        elif _is_layer(content.peek(HEAD)):
            self.layers[name] = read_layer(self.walk, content, self.path.child(name), self.digester, self._before())
        elif (content.size or 0) <= oci.DOCUMENT and self._held() <= _ALL_DOCUMENTS:
            self.documents[name] = content.take(content.size or 0)
        else:
            self.layers[name] = read_layer(self.walk, content, self.path.child(name), self.digester, self._before())

    def _held(self) -> int:
        return sum(map(len, self.documents.values()))

    def _before(self) -> Before:
        read = self.layers.values()
        return Before(sum(layer.ledger.members for layer in read), sum(layer.members for layer in read))

    def document(self, name: str) -> bytes | None:
        """A document that was kept, or lies in the file."""
        name = self._resolved(name)
        if name in self.views:
            return _whole(self.views[name], name)
        return self.documents.get(name)

    def layer(self, name: str, place: MemberPath) -> Layer | None:
        """A layer that was read while it went by, or is read now."""
        name = self._resolved(name)
        kept = self.views.get(name) or (BufferView(self.documents[name]) if name in self.documents else None)
        if kept is not None and name not in self.layers:
            self.layers[name] = read_layer(self.walk, kept, place, self.digester, self._before())
        return self.layers.get(name)

    def _resolved(self, name: str) -> str:
        """``docker save`` stores a layer once and links to it from its other places."""
        for _ in range(_LONGEST_LINK_CHAIN):
            if name not in self.links:
                return name
            name = posixpath.normpath(posixpath.join(posixpath.dirname(name), self.links[name]))
        return name


@dataclass(slots=True)
class FolderStore:
    """The parts of an image as files of a directory; ``names`` are its regular files, so that no link is followed."""

    walk: Visitor
    root: Path
    names: frozenset[str]
    digester: Digester
    stack: ExitStack
    layers: dict[str, Layer] = field(default_factory=dict)

    def document(self, name: str) -> bytes | None:
        """Read a file of the directory."""
        if name not in self.names:
            return None
        with open_view(self.root / name) as view:
            return _whole(view, name)

    def layer(self, name: str, place: MemberPath) -> Layer | None:
        """Read a layer from its file, which stays open as long as the digest is being taken."""
        if name in self.names and name not in self.layers:
            view = self.stack.enter_context(open_view(self.root / name))
            read = self.layers.values()
            before = Before(sum(layer.ledger.members for layer in read), sum(layer.members for layer in read))
            self.layers[name] = read_layer(self.walk, view, place, self.digester, before)
        return self.layers.get(name)


def _is_layer(head: bytes) -> bool:
    return tar.is_tar(head) or compression.is_compressed(head)


def _whole(view: View, name: str) -> bytes:
    if view.size > oci.DOCUMENT:
        raise FormatError(f"a document of {view.size} bytes: {name}")
    return view.read(0, view.size)
