"""Read a directory: every file once, those that are remembered not at all, and nothing that changes meanwhile."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pipeline.binary import BufferView, FormatError, ShortRead, open_view
from pipeline.digest import file_sha256
from pipeline.errors import InfrastructureError
from pipeline.formats.facts import Opaque
from pipeline.inventory.digest import FileDigests, tree_digest
from pipeline.inventory.image_names import is_folder_image, is_part
from pipeline.inventory.layout import read_layout
from pipeline.inventory.memory import Found
from pipeline.inventory.tree import TreeFile, TreeLink, list_tree
from pipeline.inventory.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pipeline.binary import View
    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.memory import Memory
    from pipeline.inventory.tree import TreeEntry
    from pipeline.model.paths import MemberPath

    Progress = Callable[[int, int], None]

_SPECIAL = "device, pipe or socket"
_TOLD = 3
_SMALL = 128 << 10
"""Bytes of a file that is read at once, for its facts and its digest together."""


def read_folder(
    path: Path, root: MemberPath, ledger: Ledger, progress: Progress, *, digest: bool, memory: Memory | None
) -> tuple[str, int, str]:
    """Fill the ledger; return the directory's kind, its size in bytes and, where asked for, its digest.

    ``InfrastructureError`` when something cannot be read, or changed while it was.
    """
    entries = sorted(list_tree(path), key=lambda entry: entry.name)
    files = [entry for entry in entries if isinstance(entry, TreeFile)]
    total = sum(file.size for file in files)
    if is_folder_image(frozenset(file.name for file in files)):
        _read_image(path, root, ledger, entries)
        progress(total, total)
        return "oci", total, ""
    reading = _Reading(path, root, ledger, memory)
    unknown = [file for file in files if not reading.recall(file)]
    large = [file for file in unknown if file.size > _SMALL]
    with ExitStack() as stack:
        digests = stack.enter_context(FileDigests(path, large)) if digest and large else None
        reading.walk(entries, progress, total)
        known = {name: found.sha256 for name, found in reading.recalled.items()}
        known |= reading.digests | (digests.all() if digests is not None else {})
    if unknown:
        _unchanged(path, entries)
    if memory is not None and digest:
        reading.keep(unknown, known)
        memory.close()
    return "directory", total, tree_digest(entries, known) if digest else ""


def _read_image(path: Path, root: MemberPath, ledger: Ledger, entries: Iterable[TreeEntry]) -> None:
    """A layout of container images; what lies beside its parts is read as usual."""
    entries = list(entries)
    read_layout(Walk(ledger), path, frozenset(entry.name for entry in entries if isinstance(entry, TreeFile)), root)
    beside = [entry for entry in entries if not is_part(entry.name)]
    _Reading(path, root, ledger, None).walk(beside, lambda _done, _total: None, 0)


class _Reading:
    """One pass over a directory; ``fresh`` are the facts of files that were not remembered, to be kept.

    ``digests`` are those of small files, by name.
    """

    def __init__(self, path: Path, root: MemberPath, ledger: Ledger, memory: Memory | None) -> None:
        self._path = path
        self._root = root
        self._ledger = ledger
        self._memory = memory
        self.recalled: dict[str, Found] = {}
        self.digests: dict[str, str] = {}
        self._fresh: dict[str, Ledger] = {}

    def recall(self, file: TreeFile) -> bool:
        """Whether this file is remembered."""
        if self._memory is None:
            return False
        found = self._memory.recall(file.stamp, self._root.child(file.name), self._ledger.beside)
        if found is not None:
            self.recalled[file.name] = found
        return found is not None

    def walk(self, entries: Iterable[TreeEntry], progress: Progress, total: int) -> None:
        """Everything in the order of names, whether it is remembered or not."""
        done = 0
        for entry in entries:
            place = self._root.child(entry.name)
            if isinstance(entry, TreeFile):
                self._file(entry, place)
                done += entry.size
                progress(done, total)
            elif isinstance(entry, TreeLink):
                self._ledger.link(place, entry.target)
            else:
                self._ledger.opaque.append(Opaque(place, _SPECIAL, 0))
        progress(total, total)

    def _file(self, file: TreeFile, place: MemberPath) -> None:
        found = self.recalled.get(file.name)
        if found is not None and found.ledger is not None:
            self._ledger.absorb(found.ledger)
            return
        if found is not None:
            self._ledger.members += 1
            self._ledger.file(place, file.size)
            self._ledger.opaque.append(Opaque(place, found.what, file.size))
            return
        ledger = self._ledger if self._memory is None else self._ledger.beside()
        with open_view(self._path / file.name) as view:
            if self._ledger.full:
                raise FormatError(f"more than {self._ledger.budgets.members} members")
            if file.size > _SMALL:
                Walk(ledger).visit_file(view, place)
            else:
                self._small(file, view, place, ledger)
        if ledger is not self._ledger:
            self._ledger.absorb(ledger)
            self._fresh[file.name] = ledger

    def _small(self, file: TreeFile, view: View, place: MemberPath, ledger: Ledger) -> None:
        try:
            content = view.read(0, min(view.size, file.size))
        except ShortRead:  # it has just been cut: that is damage, unless the change is told at the end
            self.digests[file.name] = file_sha256(self._path / file.name)
            Walk(ledger).visit_file(view, place)
            return
        self.digests[file.name] = hashlib.sha256(content).hexdigest()
        Walk(ledger).visit_file(BufferView(content), place)

    def keep(self, files: Iterable[TreeFile], digests: dict[str, str]) -> None:
        """Remember what was read for the first time."""
        if self._memory is None:
            return
        for file in files:
            found = Found(digests[file.name], "", self._fresh[file.name])
            self._memory.keep(file.stamp, self._root.child(file.name), found)


def _unchanged(path: Path, before: list[TreeEntry]) -> None:
    """What is being installed or removed is neither the one thing nor the other."""
    after = sorted(list_tree(path), key=lambda entry: entry.name)
    if after == before:
        return
    changed = sorted({entry.name for entry in {*before} ^ {*after}})
    more = f" and {len(changed) - _TOLD} more" if len(changed) > _TOLD else ""
    raise InfrastructureError(
        f"{path} changed while it was read: {', '.join(changed[:_TOLD])}{more}",
        remedy="wait until nothing is installed or removed there, and look again",
    )
