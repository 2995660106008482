"""Which needed libraries nothing brings, over every process that could be started from the artifacts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.filesystem import Place
    from pipeline.rules.host import HostOffer
    from pipeline.rules.loader import Loader, Process


@dataclass(frozen=True, slots=True)
class Gap:
    """A file that needs a library which is nowhere within reach; ``program`` started the process, if one did."""

    elf: ElfFacts
    name: str
    program: ElfFacts | None = None


@dataclass(frozen=True, slots=True)
class Closures:
    """What loading each program, and each library that no program needs, brings along."""

    programs: tuple[Process, ...]
    libraries: tuple[Process, ...]

    def gaps(self, loader: Loader) -> Iterator[Gap]:
        """Each once: a file that needs a library, and the first program that starves of it."""
        seen: set[tuple[Place, str]] = set()
        for process in (*self.programs, *self.libraries):
            program = process.root.elf if process.root.elf.interpreter is not None else None
            for user, name in process.missing:
                if (user.place, name) not in seen and (program is not None or not self._around(loader, user.elf, name)):
                    seen.add((user.place, name))
                    yield Gap(user.elf, name, program)

    def _around(self, loader: Loader, elf: ElfFacts, name: str) -> bool:
        """Whether a program that opens this library has ``name`` loaded, or lends it an RPATH that finds it."""
        container = loader.place(elf).container
        return any(
            name in process.found or loader.lent(process.root.elf, elf, name)
            for process in self.programs
            if process.root.place.container == container
        )

    def from_host(self) -> Iterator[tuple[ElfFacts, str]]:
        """The file that asked for each library which the host brings, once for each root."""
        for process in (*self.programs, *self.libraries):
            for user in process.objects:
                for name in user.elf.needed:
                    if name in process.found and process.found[name] is None:
                        yield user.elf, name


def closures(loader: Loader, elves: Iterable[ElfFacts], host: HostOffer) -> Closures:
    """Start every program; load every library that they leave out, unless another one loads it anyway."""
    elves = tuple(elves)
    programs = [loader.start(elf, host) for elf in elves if is_program(elf)]
    reached = {loaded.place for process in programs for loaded in process.objects}
    others = [loader.start(elf, host) for elf in elves if loader.place(elf) not in reached]
    return Closures(tuple(programs), tuple(_roots(others)))


def is_program(elf: ElfFacts) -> bool:
    """Whether it is started, not loaded. The C library and its loader have an interpreter or none, and a SONAME."""
    return elf.interpreter is not None and elf.soname is None


def _roots(processes: list[Process]) -> Iterator[Process]:
    """The libraries that no other one loads, and of each circle one."""
    users = Counter(loaded.place for process in processes for loaded in process.objects)
    covered: set[Place] = set()
    for process in sorted(processes, key=lambda process: users[process.root.place]):
        if process.root.place not in covered:
            covered.update(loaded.place for loaded in process.objects)
            yield process
