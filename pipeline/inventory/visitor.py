"""What the readers of archives know of the walk that they give their members to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from pipeline.binary import View
    from pipeline.formats.pkzip import ZipMember
    from pipeline.formats.stream import Stream
    from pipeline.inventory.ledger import Ledger
    from pipeline.model.paths import MemberPath


class Visitor(Protocol):
    """Walks members; ``rooted`` says that the archive around them is a file system."""

    @property
    def ledger(self) -> Ledger:
        """What it writes to."""
        ...

    @property
    def rooted(self) -> bool:
        """Whether device nodes and links to absolute paths are no harm."""
        ...

    def visit_file(self, content: View | Stream, path: MemberPath) -> None:
        """Walk a regular file, counting it."""
        ...

    def visit_zip(self, view: View, members: dict[str, ZipMember], path: MemberPath) -> None:
        """Walk members of a zip archive, by the names they are known under."""
        ...

    def inside_layer(self, ledger: Ledger) -> Self:
        """The same one level deeper, in a file system, writing to another ledger."""
        ...

    def beside(self, ledger: Ledger) -> Self:
        """The same in another thread, writing to another ledger."""
        ...
