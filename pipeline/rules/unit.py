"""Units of device code as the rules see them: equal containers of one library are judged once and counted.

A library of thousands of containers has a few dozen different ones: what decides is the kind, architecture,
codec, PTX ISA and provenance of each entry, not its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchSuffix
from pipeline.model.paths import MemberPath
from pipeline.rules.image import (
    RESERVED,
    RESERVED_FROM,
    STATIC_LIMIT,
    Image,
    flat,
    images_of,
    read_images,
    traces,
)
from pipeline.rules.kernelless import has_no_kernels

if TYPE_CHECKING:
    from pipeline.formats.facts import BareImage, EntryFacts, FatbinFacts, Inventory

__all__ = [
    "RESERVED",
    "RESERVED_FROM",
    "STATIC_LIMIT",
    "Image",
    "Unit",
    "Units",
    "flat",
    "images_of",
    "library_of",
    "units_of",
]

_DEVICE_LINKED = 2  # version of the wrapper by which a program registers what `-rdc=true` linked in advance


@dataclass(frozen=True, slots=True)
class Unit:
    """Containers of one library that the driver cannot tell apart: one translation unit each, as a rule.

    ``library`` is the member the containers lie in; ``path`` the first container. ``bare`` marks a cubin or PTX
    file; ``count`` how many containers the unit stands for, ``paths`` all of them; ``entries`` how many entries each
    has. ``linked`` are the relocatable containers of the same program: where the final one has nothing for a GPU, the
    runtime links their PTX when the program starts.
    """

    library: MemberPath
    path: MemberPath
    images: tuple[Image, ...]
    bare: bool = False
    count: int = 1
    paths: tuple[MemberPath, ...] = field(default=(), compare=False, repr=False)
    linked: tuple[tuple[Image, ...], ...] = ()

    @property
    def entries(self) -> int:
        """Entries in all its containers."""
        return len(self.images) * self.count

    @property
    def suffixed(self) -> bool:
        """Whether every image that can be loaded is architecture- or family-specific."""
        archs = [image.arch for image in flat(self.images) if image.arch is not None]
        return bool(archs) and all(arch.suffix is not ArchSuffix.NONE for arch in archs)


@dataclass(frozen=True, slots=True)
class Units:
    """The device code of an artifact: ``loaded`` is judged, the rest is counted and left alone.

    ``empty`` containers hold nothing, ``stubs`` no kernel (as the device linker's ELF), ``relocatable`` ones are
    input of a device link; ``foreign`` hold only kinds that the driver does not load.
    """

    loaded: tuple[Unit, ...]
    empty: int = 0
    stubs: int = 0
    relocatable: int = 0
    foreign: int = 0


@dataclass(slots=True)
class _Library:
    """The containers of one library, by what they are made of; ``majors`` of toolkits that show anywhere in it."""

    path: MemberPath
    majors: set[int] = field(default_factory=set)
    shapes: dict[tuple[object, ...], _Shape] = field(default_factory=dict)


@dataclass(slots=True)
class _Shape:
    """Containers of one library that are made of the same facts; ``own`` are the toolkit majors that these show.

    ``places`` has the list in which such a container is noted, by whether it is a final one.
    """

    library: _Library
    own: frozenset[int]
    places: dict[bool, list[MemberPath]] = field(default_factory=dict)

    def images(self, entries: tuple[EntryFacts, ...]) -> tuple[Image, ...]:
        return read_images(entries, self.own or frozenset(self.library.majors))


@dataclass(slots=True)
class _Census:
    """Collects containers by what decides about them, once all have been met; ``around`` is what they lie in."""

    libraries: dict[MemberPath, _Library] = field(default_factory=dict)
    around: dict[tuple[str, ...], _Library] = field(default_factory=dict)
    found: dict[tuple[MemberPath, tuple[Image, ...], bool, bool], list[MemberPath]] = field(default_factory=dict)
    hollow: dict[MemberPath, MemberPath] = field(default_factory=dict)
    parts: dict[MemberPath, dict[tuple[Image, ...], None]] = field(default_factory=dict)
    foreign: list[MemberPath] = field(default_factory=list)
    empty: int = 0
    stubs: int = 0
    relocatable: int = 0

    def meet(self, fatbin: FatbinFacts) -> _Shape:
        around = fatbin.path.parts[: -2 if fatbin.section else -1] or fatbin.path.parts
        library = self.around.get(around)
        if library is None:
            path = library_of(fatbin)
            library = self.around[around] = self.libraries.setdefault(path, _Library(path))
        likeness = tuple([_likeness(entry) for entry in fatbin.entries])
        shape = library.shapes.get(likeness)
        if shape is None:
            shape = library.shapes[likeness] = _Shape(library, frozenset(traces(fatbin.entries)))
            library.majors |= shape.own
        return shape

    def add(self, fatbin: FatbinFacts, shape: _Shape) -> None:
        final = fatbin.wrapper == _DEVICE_LINKED
        library = shape.library.path
        if not fatbin.entries:
            self.empty += 1
            if final:
                self.hollow[library] = fatbin.path
        elif fatbin.relocatable:
            self.relocatable += 1
            if fatbin.wrapper is not None:
                self.parts.setdefault(library, {})[shape.images(fatbin.entries)] = None
        elif has_no_kernels(fatbin):
            self.stubs += 1
        else:
            places = shape.places.get(final)
            if places is None:
                places = shape.places[final] = self._places(library, shape.images(fatbin.entries), final=final)
            places.append(fatbin.path)

    def _places(self, library: MemberPath, images: tuple[Image, ...], *, final: bool) -> list[MemberPath]:
        """Where containers with these images are noted."""
        if not any(image.loadable_kind for image in images):
            return self.foreign
        return self.found.setdefault((library, images, False, final), [])

    def add_bare(self, image: BareImage) -> None:
        images = images_of((image.entry,), frozenset())
        if not images[0].loadable_kind:
            self.foreign.append(image.path)
            return
        self.found.setdefault((image.path, images, True, False), []).append(image.path)

    def units(self) -> Units:
        loaded = [
            Unit(library, paths[0], images, bare, len(paths), tuple(paths), self._linked(library) if final else ())
            for (library, images, bare, final), paths in self.found.items()
        ]
        # A program for which nothing was linked in advance: all of it is linked when it starts.
        for library, path in self.hollow.items():
            if linked := self._linked(library):
                loaded.append(Unit(library, path, (), paths=(path,), linked=linked))
        return Units(tuple(loaded), self.empty, self.stubs, self.relocatable, len(self.foreign))

    def _linked(self, library: MemberPath) -> tuple[tuple[Image, ...], ...]:
        return tuple(self.parts.get(library, ()))


def _likeness(entry: EntryFacts) -> tuple[object, ...]:
    """The same for entries of which the same images are made.

    Readers share the facts that repeat, so most are known by identity; two that are only equal are read twice.
    """
    return (
        entry.kind,
        id(entry.arch),
        id(entry.codec),
        id(entry.ptx),
        id(entry.cubin),
        id(entry.text),
        entry.code_version,
        entry.header_size,
        entry.identifier == "",
        entry.payload_error,
        tuple(map(_likeness, entry.nested)) if entry.nested else None,
    )


def units_of(inventory: Inventory) -> Units:
    """Group the device code of an artifact."""
    census = _Census()
    shapes = [census.meet(fatbin) for fatbin in inventory.fatbins]
    for fatbin, shape in zip(inventory.fatbins, shapes, strict=True):
        census.add(fatbin, shape)
    for image in inventory.bare:
        census.add_bare(image)
    return census.units()


def library_of(fatbin: FatbinFacts) -> MemberPath:
    """The member that a container belongs to; the whole archive for an object of a static library."""
    parts = fatbin.path.parts[: -2 if fatbin.section else -1] or fatbin.path.parts
    archive = next((place for place, part in enumerate(parts) if part.endswith(".a")), len(parts) - 1)
    return MemberPath(parts[: archive + 1])
