"""Members of a tar archive that may turn out to be parts of a container image: kept aside until that is known."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import BufferView
from pipeline.formats.tar import TarKind
from pipeline.inventory.digester import Digester
from pipeline.inventory.image import read_images
from pipeline.inventory.image_names import is_part
from pipeline.inventory.names import relative
from pipeline.inventory.overlay import ChangeKind
from pipeline.inventory.store import ArchiveStore

if TYPE_CHECKING:
    from pipeline.formats.tar import TarMember
    from pipeline.inventory.layer import Layer
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath

_LINKS = (TarKind.SYMLINK, TarKind.HARDLINK)


@dataclass(slots=True)
class Parts:
    """The parts of one archive; ``end`` must be called, whatever happens."""

    walk: Visitor
    path: MemberPath
    digester: Digester = field(default_factory=Digester)
    store: ArchiveStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = ArchiveStore(self.walk, self.path, self.digester)

    def take(self, name: str, member: TarMember) -> bool:
        """Keep a member aside; ``False`` where it is like none that images have."""
        if not is_part(name):
            return False
        if member.kind in _LINKS:
            link = (
                member.link
                if member.kind is TarKind.SYMLINK
                else posixpath.relpath(relative(member.link), posixpath.dirname(name) or ".")
            )
            self.store.links[name] = link
            return False
        if member.kind is not TarKind.FILE:
            return False
        self.store.collect(name, member.content)
        return True

    def conclude(self) -> str:
        """Read the images if there are any and return the archive's kind; that of an ordinary one is empty."""
        if self.store.is_image:
            read_images(self.store, self.path, self.walk.ledger)
            return self.store.format
        self.give_back()
        return ""

    def give_back(self) -> None:
        """Treat what was kept aside as the ordinary members that it is."""
        for name, view in self.store.views.items():
            self.walk.visit_file(view, self.path.child(name))
        for name, data in self.store.documents.items():
            self.walk.visit_file(BufferView(data), self.path.child(name))
        for layer in self.store.layers.values():
            _give_back(layer, self.walk)

    def end(self) -> None:
        """Stop what still runs."""
        self.digester.close()


def _give_back(layer: Layer, walk: Visitor) -> None:
    """An archive inside the archive, all of whose members count."""
    ledger = walk.ledger
    ledger.absorb(layer.ledger)
    ledger.members += 1
    ledger.file(layer.place, layer.size)
    if layer.flaw:
        ledger.damage(layer.place, layer.flaw)
    for change in layer.changes.additions:
        if change.kind is ChangeKind.HARD_LINK:
            target = posixpath.relpath(relative(change.link.lstrip("/")), posixpath.dirname(change.path) or ".")
            ledger.link(layer.place.child(change.path), target)
        elif change.kind is ChangeKind.CONTENT and change.key != change.path:
            ledger.damage(layer.place.child(change.path), "a second member of the same name")
