"""What a walk has found so far; the only thing it writes to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from pipeline.formats.facts import (
    BareImage,
    Damage,
    ElfFacts,
    FatbinFacts,
    ImageFacts,
    LoaderConf,
    MetadataFile,
    Opaque,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.formats.fatbin import ContainerReader
    from pipeline.formats.kernels import KernelNames
    from pipeline.model.paths import MemberPath

_Fact = TypeVar("_Fact", BareImage, Damage, ElfFacts, FatbinFacts, ImageFacts, LoaderConf, MetadataFile, Opaque)


@dataclass(slots=True)
class Ledger:
    """Lists that grow while an artifact is walked, and the means the walk needs everywhere.

    ``names`` are the kernels met so far, ``None`` where the run does not ask for them. ``platform`` (``linux/amd64``)
    chooses among the images of an index; ``images`` are those that were read, ``configs`` the digests of their
    configurations.
    """

    budgets: Budgets
    reader: ContainerReader
    deep: bool
    names: KernelNames | None = None
    platform: str = ""
    members: int = 0
    elves: list[ElfFacts] = field(default_factory=list)
    fatbins: list[FatbinFacts] = field(default_factory=list)
    bare: list[BareImage] = field(default_factory=list)
    opaque: list[Opaque] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    loader_confs: list[LoaderConf] = field(default_factory=list)
    metadata: list[MetadataFile] = field(default_factory=list)
    images: list[ImageFacts] = field(default_factory=list)
    configs: list[str] = field(default_factory=list)
    links: dict[MemberPath, str] = field(default_factory=dict)
    files: dict[MemberPath, int] = field(default_factory=dict)

    def damage(self, path: MemberPath, what: str) -> None:
        """Note that a member is corrupt or hostile; past the limit the last line says that there are more."""
        if len(self.damages) < self.budgets.damage:
            self.damages.append(Damage(path, what))
        elif len(self.damages) == self.budgets.damage:
            self.damages.append(Damage(path, "and more damage, which is not listed"))

    def link(self, path: MemberPath, target: str) -> None:
        """Note a symbolic or hard link, its target as written."""
        self.links[path] = target

    def file(self, path: MemberPath, size: int) -> None:
        """Note a regular file and its size in bytes."""
        self.files[path] = size

    def beside(self) -> Ledger:
        """An empty ledger for another thread, to be absorbed when it is done."""
        return Ledger(self.budgets, self.reader, self.deep, self.names, self.platform)

    def absorb(self, other: Ledger) -> None:
        """Take over what another ledger holds."""
        self.members += other.members
        self.elves += other.elves
        self.fatbins += other.fatbins
        self.bare += other.bare
        self.opaque += other.opaque
        self.loader_confs += other.loader_confs
        self.metadata += other.metadata
        for damage in other.damages:
            self.damage(damage.path, damage.what)
        self.images += other.images
        self.configs += other.configs
        self.links |= other.links
        self.files |= other.files

    def absorb_moved(self, other: Ledger, moved: Callable[[MemberPath], MemberPath | None]) -> None:
        """Take over those facts of another ledger to whose paths ``moved`` gives a new one; drop the others."""
        self.elves += _moved(other.elves, moved)
        self.fatbins += _moved(other.fatbins, moved)
        self.bare += _moved(other.bare, moved)
        self.opaque += _moved(other.opaque, moved)
        self.loader_confs += _moved(other.loader_confs, moved)
        self.metadata += _moved(other.metadata, moved)
        for damage in _moved(other.damages, moved):
            self.damage(damage.path, damage.what)
        for image, config in zip(other.images, other.configs, strict=True):
            for here in _moved([image], moved):
                self.images.append(here)
                self.configs.append(config)
        self.links |= {path: target for old, target in other.links.items() if (path := moved(old)) is not None}
        files = {path: size for old, size in other.files.items() if (path := moved(old)) is not None}
        self.files |= files
        self.members += len(files)

    def sort(self, rank: Callable[[MemberPath], int]) -> None:
        """Bring all facts into the order that ``rank`` gives their paths; equal ones stay as they are."""
        self.elves.sort(key=lambda fact: rank(fact.path))
        self.fatbins.sort(key=lambda fact: rank(fact.path))
        self.bare.sort(key=lambda fact: rank(fact.path))
        self.opaque.sort(key=lambda fact: rank(fact.path))
        self.damages.sort(key=lambda fact: rank(fact.path))

    @property
    def full(self) -> bool:
        """Whether there are more members than a walk may visit."""
        return self.members >= self.budgets.members


def _moved(facts: Iterable[_Fact], moved: Callable[[MemberPath], MemberPath | None]) -> Iterator[_Fact]:
    for fact in facts:
        path = moved(fact.path)
        if path is not None:
            yield replace(fact, path=path)
