"""Names and links that an archive gives its members: clean ones are used, hostile and repeated ones noted as damage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.inventory.names import leads_out, relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath


@dataclass(slots=True)
class MemberNames:
    """The names that the archive at ``path`` has given so far."""

    path: MemberPath
    ledger: Ledger
    seen: set[str] = field(default_factory=set)

    def admit(self, raw: str, *, directory: bool) -> Iterator[str]:
        """Yield the clean name once; note a hostile or repeated one as damage and yield nothing."""
        try:
            name = relative(raw)
        except FormatError as error:
            self.ledger.damage(self.path.child(raw[:4096]), error.message)
            return
        if not directory and name in self.seen:
            self.ledger.damage(self.path.child(name), "a second member of the same name")
            return
        if not directory:
            self.seen.add(name)
        yield name


def note_link(name: str, target: str, place: MemberPath, visitor: Visitor) -> None:
    """Note a symbolic link of an archive, and whether it leads out of it."""
    visitor.ledger.link(place, target)
    if leads_out(name, target, rooted=visitor.rooted):
        visitor.ledger.damage(place, f"a symbolic link that leads out of the archive, to {target[:200]!r}")
