"""Take the inventory of one artifact: a file of any kind, a directory, or an image that an engine sends."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.binary import open_view
from pipeline.errors import UsageError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.facts import Inventory
from pipeline.formats.fatbin import ContainerReader, EntryNames
from pipeline.formats.payload import Examination, Glance
from pipeline.formats.recognize import HEAD
from pipeline.formats.stream import Stream
from pipeline.inventory.digest import digest_of
from pipeline.inventory.image_names import begins_image
from pipeline.inventory.layout import image_platform
from pipeline.inventory.ledger import Ledger
from pipeline.inventory.walk import Walk
from pipeline.model.paths import MemberPath

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.formats.kernels import KernelNames
    from pipeline.inventory.memory import Memory
    from pipeline.inventory.source import Source

    Progress = Callable[[int, int], None]

_SMALL = 4 << 20


def take_inventory(
    path: Path | Source,
    *,
    deep: bool = False,
    kernels: bool = False,
    progress: Progress | None = None,
    sha256: str | None = None,
    budgets: Budgets = STANDARD,
    machine: str = "",
    memory: Memory | None = None,
) -> Inventory:
    """Read the facts of everything in ``path``; nothing is written, nothing is extracted.

    ``deep`` unpacks every payload too, ``kernels`` also lists their entry functions. ``progress`` is called with bytes
    done and bytes in all. The digest is taken in other threads meanwhile, unless ``sha256`` gives one that is known; an
    image's is that of its configuration. ``machine`` (``aarch64``) chooses among images, this one where it is empty.
    ``memory`` knows files of a directory from an earlier look. What is corrupt or hostile is in ``damage``;
    ``UsageError`` when there is no such path, ``NothingExamined`` when no image is for the machine,
    ``InfrastructureError`` when it cannot be read or a directory changes while it is.
    """
    ledger = new_ledger(deep=deep, kernels=kernels, budgets=budgets, machine=machine)
    root, progress = MemberPath((str(path),)), progress or _silent
    if not isinstance(path, Path):
        sent = _walk_source(path, root, ledger, progress)
        return inventory_of(ledger, root, sent, sha256 or _image_digest(ledger, root))
    if not path.exists():
        raise UsageError(f"{path} does not exist", remedy="name a file or a folder")
    if path.is_dir():
        from pipeline.inventory.folder import read_folder  # a file needs none of it

        name, size, own = read_folder(path, root, ledger, progress, digest=sha256 is None, memory=memory)
        return inventory_of(ledger, root, (name, size), sha256 or _image_digest(ledger, root) or own or digest_of(path))
    walk = partial(_walk_file, path, root, ledger, progress)
    if sha256 is not None or _is_small(path) or _looks_like_image(path):
        found = walk()
        return inventory_of(ledger, root, found, sha256 or _image_digest(ledger, root) or digest_of(path))
    from concurrent.futures import ThreadPoolExecutor  # not needed where the digest is known, and slow to import

    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(digest_of, path)
        return inventory_of(ledger, root, walk(), _image_digest(ledger, root) or digest.result())


def new_ledger(*, deep: bool, kernels: bool, budgets: Budgets = STANDARD, machine: str = "") -> Ledger:
    """An empty ledger for one artifact, with the means to read what such a run asks for."""
    names = _kernel_names(budgets) if kernels else None
    inspect = Examination(budgets, names) if deep or kernels else Glance(budgets)
    reader = ContainerReader(EntryNames(budgets.all_entries), inspect, budgets, host_strings=kernels)
    return Ledger(budgets, reader, deep or kernels, names, image_platform(machine))


def _kernel_names(budgets: Budgets) -> KernelNames:
    from pipeline.formats.kernels import KernelNames  # most runs do not list kernels

    return KernelNames(budgets)


def _is_small(path: Path) -> bool:
    """Whether a digest takes less time than a second thread."""
    return path.is_file() and path.stat().st_size <= _SMALL


def _looks_like_image(path: Path) -> bool:
    """Whether the digest of the whole will hardly be asked for."""
    with open_view(path) as view:
        return begins_image(view.head(HEAD))


def _image_digest(ledger: Ledger, root: MemberPath) -> str:
    """The configuration's digest where the artifact is an image; that of all of them where it is several."""
    found = [digest for image, digest in zip(ledger.images, ledger.configs, strict=True) if image.path == root]
    return found[0] if len(found) == 1 else hashlib.sha256("\n".join(found).encode()).hexdigest() if found else ""


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


def _walk_source(source: Source, root: MemberPath, ledger: Ledger, progress: Progress) -> tuple[str, int]:
    with source.opened() as chunks:
        stream = Stream(chunks)
        name = Walk(ledger).visit(stream, root)
        if not ledger.images and not ledger.damages:
            ledger.damage(root, "the engine did not send an image")
        progress(stream.offset, stream.offset)
        return name, stream.offset


def inventory_of(ledger: Ledger, root: MemberPath, found: tuple[str, int], sha256: str) -> Inventory:
    """What a ledger holds as an inventory; ``found`` is the artifact's format and size."""
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
        links={str(path): target for path, target in ledger.links.items()},
        deep=ledger.deep,
        files={str(path): size for path, size in ledger.files.items()},
        images=tuple(ledger.images),
        loader_confs=tuple(ledger.loader_confs),
        metadata=tuple(ledger.metadata),
        kernels=ledger.names is not None,
    )
