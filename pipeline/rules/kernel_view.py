"""Which kernels a target gets: those of the image that its driver takes of each container, beside the other images'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.rules.subject import Examination
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipeline.formats.facts import EntryFacts, KernelFacts
    from pipeline.model.paths import MemberPath
    from pipeline.rules.choice import Selection
    from pipeline.rules.subject import Aim, Claim, Load, Subject
    from pipeline.rules.unit import Image, Unit

NOT_READ = "kernels were not read; --kernels lists them"


@dataclass(frozen=True, slots=True)
class Listed:
    """An image of a container and its kernels, sorted by name."""

    image: Image
    kernels: tuple[KernelFacts, ...]

    @property
    def names(self) -> frozenset[str]:
        """The kernels' names."""
        return frozenset(kernel.name for kernel in self.kernels)


@dataclass(frozen=True, slots=True)
class Served:
    """A container on a target: ``chosen`` is what the driver takes, ``images`` all that were read, it included.

    ``registered`` are the kernels that the host code can launch by name, ``None`` where that is not known.
    """

    load: Load
    path: MemberPath
    chosen: Listed
    images: tuple[Listed, ...]
    registered: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Contents:
    """What lies in a container, or in a file that is one image."""

    entries: tuple[EntryFacts, ...]
    registered: frozenset[str] | None = None


def everything_served(subject: Subject) -> Iterator[tuple[Aim, Served]]:
    """Every container on every target; none where some of the input was not read for kernels."""
    if not _read(subject):
        return
    contents = contents_by_path(subject)
    for aim in subject.aims:
        for container in served(aim, contents):
            yield aim, container


def _read(subject: Subject) -> bool:
    return all(inventory.kernels for inventory in subject.inventories)


def contents_by_path(subject: Subject) -> dict[MemberPath, Contents]:
    """The contents of every container and bare image."""
    found: dict[MemberPath, Contents] = {}
    for inventory in subject.inventories:
        found |= {fatbin.path: Contents(fatbin.entries, fatbin.registered) for fatbin in inventory.fatbins}
        found |= {image.path: Contents((image.entry,)) for image in inventory.bare}
    return found


def served(aim: Aim, contents: Mapping[MemberPath, Contents]) -> Iterator[Served]:
    """The containers of which this target's driver takes an image whose kernels were read."""
    for load in aim.loads:
        place = _place(load.unit, load.selection)
        if load.excused or place is None or not load.selection.loads:
            continue
        images = tuple(flat(load.unit.images))
        for path in load.unit.paths:
            listed = tuple(_listed(images, contents[path].entries))
            chosen = [item for item in listed if item.image is images[place]]
            if chosen:
                yield Served(load, path, chosen[0], listed, contents[path].registered)


def _place(unit: Unit, selection: Selection) -> int | None:
    return next((place for place, image in enumerate(flat(unit.images)) if image is selection.image), None)


def _listed(images: tuple[Image, ...], entries: tuple[EntryFacts, ...]) -> Iterator[Listed]:
    flattened = (inner for entry in entries for inner in (entry.nested or (entry,)))
    for image, entry in zip(images, flattened, strict=True):
        if entry.kernels is not None:
            yield Listed(image, entry.kernels)


def kernel_examination(subject: Subject, claims: tuple[Claim, ...]) -> Examination:
    """What a rule about kernels did; it applies only where all of the input was read for them."""
    if not subject.units:
        return Examination(0, (), "no device code in the input")
    if not _read(subject):
        return Examination(0, (), NOT_READ)
    if not subject.aims:
        return Examination(0, (), "no target was named")
    examined = sum(
        len(entry.kernels or ())
        for contents in contents_by_path(subject).values()
        for whole in contents.entries
        for entry in (whole.nested or (whole,))
    )
    return Examination(examined, claims, None if examined else "no kernels in the input")
