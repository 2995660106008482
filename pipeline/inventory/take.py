"""Take the inventory of one artifact: a file of any kind or a directory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pipeline.binary import open_view
from pipeline.errors import UsageError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.facts import Inventory, Opaque
from pipeline.formats.fatbin import ContainerReader, EntryNames
from pipeline.formats.kernels import KernelNames
from pipeline.formats.payload import Examination, Glance
from pipeline.inventory.digest import digest_of
from pipeline.inventory.ledger import Ledger
from pipeline.inventory.tree import TreeFile, TreeLink, list_tree
from pipeline.inventory.walk import Walk
from pipeline.model.paths import MemberPath

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Progress = Callable[[int, int], None]

_SPECIAL = "device, pipe or socket"


def take_inventory(
    path: Path,
    *,
    deep: bool = False,
    kernels: bool = False,
    progress: Progress | None = None,
    sha256: str | None = None,
    budgets: Budgets = STANDARD,
) -> Inventory:
    """Read the facts of everything in ``path``; nothing is written, nothing is extracted.

    ``deep`` unpacks every payload too, ``kernels`` also lists their entry functions. ``progress`` is called with bytes
    done and bytes in all. The digest is taken in other threads meanwhile, unless ``sha256`` gives one that is known.
    What is corrupt or hostile is in ``damage``; ``UsageError`` when there is no such path, ``InfrastructureError`` when
    it cannot be read.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    names = KernelNames(budgets) if kernels else None
    inspect = Examination(budgets, names) if deep or kernels else Glance(budgets)
    reader = ContainerReader(EntryNames(budgets.all_entries), inspect, budgets)
    ledger = Ledger(budgets, reader, deep or kernels, names)
    root = MemberPath((str(path),))
    walk = partial(_walk_tree if path.is_dir() else _walk_file, path, root, ledger, progress or _silent)
    if sha256 is not None:
        return _inventory(ledger, root, walk(), sha256)
    from concurrent.futures import ThreadPoolExecutor  # not needed where the digest is known, and slow to import

    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(digest_of, path)
        return _inventory(ledger, root, walk(), digest.result())


def _silent(_done: int, _total: int) -> None:
    pass


def _walk_file(path: Path, root: MemberPath, ledger: Ledger, progress: Progress) -> tuple[str, int]:
    with open_view(path) as view:
        progress(0, view.size)
        ledger.members += 1
        name = Walk(ledger).visit(view, root)
        ledger.file(root, view.size)
        progress(view.size, view.size)
        return name, view.size


def _walk_tree(path: Path, root: MemberPath, ledger: Ledger, progress: Progress) -> tuple[str, int]:
    entries = sorted(list_tree(path), key=lambda entry: entry.name)
    total = sum(entry.size for entry in entries if isinstance(entry, TreeFile))
    done = 0
    for entry in entries:
        place = root.child(entry.name)
        if isinstance(entry, TreeFile):
            with open_view(path / entry.name) as view:
                Walk(ledger).visit_file(view, place)
            done += entry.size
            progress(done, total)
        elif isinstance(entry, TreeLink):
            ledger.link(place, entry.target)
        else:
            ledger.opaque.append(Opaque(place, _SPECIAL, 0))
    return "directory", total


def _inventory(ledger: Ledger, root: MemberPath, found: tuple[str, int], sha256: str) -> Inventory:
    name, size = found
    return Inventory(
        root=str(root),
        format=name,
        sha256=sha256,
        size=size,
        members=ledger.members,
        elves=tuple(ledger.elves),
        fatbins=tuple(ledger.fatbins),
        bare=tuple(ledger.bare),
        opaque=tuple(ledger.opaque),
        damage=tuple(ledger.damages),
        links=ledger.links,
        deep=ledger.deep,
        files=ledger.files,
        loader_confs=tuple(ledger.loader_confs),
        kernels=ledger.names is not None,
    )
