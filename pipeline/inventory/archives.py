"""Archives and compressed files: give what is in them to the walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.binary import FormatError, View
from pipeline.formats import ar, compression
from pipeline.formats.recognize import HEAD, Kind, recognize
from pipeline.formats.stream import stream_of
from pipeline.inventory.tars import walk_tar
from pipeline.inventory.zips import walk_zip

if TYPE_CHECKING:
    from pipeline.formats.stream import Stream
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath

_CONTENT = "content"


def enter(kind: Kind, content: View | Stream, path: MemberPath, visitor: Visitor) -> str:
    """Walk an archive of this kind; return its format's name, which may say more."""
    source = stream_of(content) if isinstance(content, View) else content
    match kind:
        case Kind.TAR:
            return walk_tar(source, path, visitor) or kind.value
        case Kind.ZIP:
            return walk_zip(content, path, visitor)
        case Kind.COMPRESSED:
            return _compressed(source, path, visitor)
        case _:
            _ar(source, path, visitor)
    return kind.value


def _compressed(source: Stream, path: MemberPath, visitor: Visitor) -> str:
    """What one compressed stream holds: an archive's members, or a single file called ``content``."""
    which = compression.recognize(source.peek(HEAD))
    if which is None:
        raise FormatError("compressed data that changed while it was read")
    inner = compression.decompressed(source, which, visitor.ledger.budgets)
    if recognize(inner.peek(HEAD)) is Kind.TAR:
        return f"{walk_tar(inner, path, visitor) or Kind.TAR.value}.{which.value}"
    visitor.visit_file(inner, path.child(_CONTENT))
    return which.value


def _ar(source: Stream, path: MemberPath, visitor: Visitor) -> None:
    """A static library's or Debian package's members; equal names are usual in libraries."""
    counts: dict[str, int] = {}
    for member in ar.read_ar(source, visitor.ledger.budgets):
        seen = counts[member.name] = counts.get(member.name, 0) + 1
        visitor.visit_file(member.content, path.child(member.name if seen == 1 else f"{member.name}#{seen}"))
