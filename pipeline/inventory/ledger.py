"""What a walk has found so far; the only thing it writes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.formats.facts import Damage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.formats.budgets import Budgets
    from pipeline.formats.facts import BareImage, ElfFacts, FatbinFacts, LoaderConf, Opaque
    from pipeline.formats.fatbin import ContainerReader
    from pipeline.formats.kernels import KernelNames
    from pipeline.model.paths import MemberPath


@dataclass(slots=True)
class Ledger:
    """Lists that grow while an artifact is walked, and the means the walk needs everywhere.

    ``names`` are the kernels met so far, ``None`` where the run does not ask for them.
    """

    budgets: Budgets
    reader: ContainerReader
    deep: bool
    names: KernelNames | None = None
    members: int = 0
    elves: list[ElfFacts] = field(default_factory=list)
    fatbins: list[FatbinFacts] = field(default_factory=list)
    bare: list[BareImage] = field(default_factory=list)
    opaque: list[Opaque] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    loader_confs: list[LoaderConf] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def damage(self, path: MemberPath, what: str) -> None:
        """Note that a member is corrupt or hostile; past the limit the last line says that there are more."""
        if len(self.damages) < self.budgets.damage:
            self.damages.append(Damage(path, what))
        elif len(self.damages) == self.budgets.damage:
            self.damages.append(Damage(path, "and more damage, which is not listed"))

    def link(self, path: MemberPath, target: str) -> None:
        """Note a symbolic or hard link, its target as written."""
        self.links[str(path)] = target

    def file(self, path: MemberPath, size: int) -> None:
        """Note a regular file and its size in bytes."""
        self.files[str(path)] = size

    def beside(self) -> Ledger:
        """An empty ledger for another thread, to be absorbed when it is done."""
        return Ledger(self.budgets, self.reader, self.deep, self.names)

    def absorb(self, other: Ledger) -> None:
        """Take over what another ledger holds."""
        self.members += other.members
        self.elves += other.elves
        self.fatbins += other.fatbins
        self.bare += other.bare
        self.opaque += other.opaque
        self.loader_confs += other.loader_confs
        for damage in other.damages:
            self.damage(damage.path, damage.what)
        self.links |= other.links
        self.files |= other.files

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
