"""Zip archives and wheels: large members are unpacked side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.binary import AheadView, FormatError, View
from pipeline.formats import pkzip
from pipeline.formats.pkzip_members import open_member
from pipeline.formats.recognize import Kind
from pipeline.formats.stream import Stream
from pipeline.inventory.holding import fits, whole
from pipeline.inventory.member_names import MemberNames, note_link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.formats.pkzip import ZipMember
    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath

_WHEEL_FILE = ".dist-info/WHEEL"
_LARGE = 4 << 20
_LANES = 2
"""Threads for large members, beside the one that has the small ones: each may keep ``Budgets.kept`` bytes."""


def walk_zip(content: View | Stream, path: MemberPath, visitor: Visitor) -> str:
    """Walk a zip archive's members in the order they lie in the file; return its format's name."""
    budgets = visitor.ledger.budgets
    if isinstance(content, Stream) and not fits(content, budgets):
        return _walk_stream(content, path, visitor)
    view = whole(content, budgets)
    members = sorted(pkzip.read_directory(view, budgets), key=lambda row: row.header_at)
    names = MemberNames(path, visitor.ledger)
    admitted = {
        name: member
        for member in members
        for name in names.admit(member.name, directory=member.is_directory)
        if not member.is_directory
    }
    visitor.visit_zip(view, admitted, path)
    return _format(members)


def _walk_stream(source: Stream, path: MemberPath, visitor: Visitor) -> str:
    """Walk a zip archive too large to hold; only its end tells which members were links or worse."""
    from pipeline.formats.pkzip_stream import ZipStream

    archive, names = ZipStream(source, visitor.ledger.budgets), MemberNames(path, visitor.ledger)
    for member in archive.members():
        for name in names.admit(member.name, directory=member.name.endswith("/")):
            if not member.name.endswith("/"):
                visitor.visit_file(member.content, path.child(name))
    rows = archive.directory()
    for row in rows:
        if row.is_symlink or row.is_special:
            what = "a link or special file in a zip archive inside another archive"
            visitor.ledger.damage(path.child(row.name), what)
    return _format(rows)


def walk_lanes(view: View, members: dict[str, ZipMember], path: MemberPath, visitor: Visitor) -> None:
    """Walk large members in threads of their own: unpacking leaves the interpreter free for the many small ones."""
    large = {name: member for name, member in members.items() if member.packed > _LARGE}
    if not large or len(members) == 1:
        walk_members(view, members, path, visitor)
        return
    from concurrent.futures import ThreadPoolExecutor

    lanes = [(lane, visitor.ledger.beside()) for lane in _dealt(large)]
    alone = len(lanes) == 1
    with ThreadPoolExecutor(_LANES) as pool:
        running = [
            pool.submit(walk_members, view, lane, path, visitor.beside(ledger), ahead=alone) for lane, ledger in lanes
        ]
        walk_members(view, {name: row for name, row in members.items() if name not in large}, path, visitor)
        for lane_done in running:
            lane_done.result()
    for _, ledger in lanes:
        visitor.ledger.absorb(ledger)
    _sort(visitor.ledger, path, members)


def _dealt(members: dict[str, ZipMember]) -> list[dict[str, ZipMember]]:
    """The members dealt to lanes, the largest first, each to the lane that has least to do."""
    lanes: list[dict[str, ZipMember]] = [{} for _ in range(min(_LANES, len(members)))]
    for name, member in sorted(members.items(), key=lambda item: -item[1].packed):
        least = min(lanes, key=lambda lane: sum(row.packed for row in lane.values()))
        least[name] = member
    return lanes


def _sort(ledger: Ledger, path: MemberPath, members: Iterable[str]) -> None:
    """Bring what is inside ``path`` back into the order of its members."""
    depth, order = len(path.parts), {name: index for index, name in enumerate(members)}
    last = len(order)
    ledger.sort(lambda fact: order.get(fact.parts[depth], last) if fact.parts[:depth] == path.parts else -1)


def walk_members(
    view: View, members: dict[str, ZipMember], path: MemberPath, visitor: Visitor, *, ahead: bool = True
) -> None:
    """Walk these members in their order; ``ahead``: another thread may unpack what is large."""
    view = AheadView(view)
    for name, member in members.items():
        try:
            content = open_member(view, member, visitor.ledger.budgets, ahead=ahead)
            _member(content, member, name, path.child(name), visitor)
        except FormatError as error:
            visitor.ledger.damage(path.child(name), error.message)


def _member(content: View | Stream, member: ZipMember, name: str, place: MemberPath, visitor: Visitor) -> None:
    if member.is_special:
        visitor.ledger.damage(place, "a device, pipe or socket")
    elif member.is_symlink:
        note_link(name, _target(content), place, visitor)
    else:
        visitor.visit_file(content, place)


def _target(content: View | Stream) -> str:
    raw = content.head(4096) if isinstance(content, View) else content.peek(4096)
    return raw.decode("utf-8", "surrogateescape")


def _format(members: Iterable[ZipMember]) -> str:
    named = (member.name for member in members if member.name.endswith(_WHEEL_FILE))
    return "whl" if any(name.count("/") == 1 and name != _WHEEL_FILE for name in named) else Kind.ZIP.value
