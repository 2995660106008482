"""Tar archives, which may be container images."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.formats import tar
from pipeline.formats.facts import Opaque
from pipeline.formats.tar import TarKind
from pipeline.inventory.member_names import MemberNames, note_link
from pipeline.inventory.names import relative
from pipeline.inventory.parts import Parts

if TYPE_CHECKING:
    from pipeline.formats.stream import Stream
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath


def walk_tar(source: Stream, path: MemberPath, visitor: Visitor) -> str:
    """Walk a tar archive's members; return what kind of container image it is, if any."""
    parts = Parts(visitor, path)
    try:
        _members(source, path, visitor, parts)
        return parts.conclude()
    finally:
        parts.end()


def _members(source: Stream, path: MemberPath, visitor: Visitor, parts: Parts) -> None:
    names = MemberNames(path, visitor.ledger)
    try:
        for member in tar.read_tar(source, visitor.ledger.budgets):
            with_name = names.admit(member.name, directory=member.kind is TarKind.DIRECTORY)
            for name in with_name:
                if not parts.take(name, member):
                    _member(member, name, path.child(name), visitor)
    except FormatError:
        parts.give_back()
        raise


def _member(member: tar.TarMember, name: str, place: MemberPath, visitor: Visitor) -> None:
    match member.kind:
        case TarKind.FILE:
            visitor.visit_file(member.content, place)
        case TarKind.SYMLINK:
            note_link(name, member.link, place, visitor)
        case TarKind.HARDLINK:
            target = relative(member.link)
            visitor.ledger.link(place, posixpath.relpath(target, posixpath.dirname(name) or "."))
        case TarKind.DEVICE | TarKind.FIFO if visitor.rooted:
            visitor.ledger.opaque.append(Opaque(place, member.kind.value, 0))
        case TarKind.DIRECTORY:
            pass
        case _:
            visitor.ledger.damage(place, f"a {member.kind.value}")
