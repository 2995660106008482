"""What each target's driver would compile: which PTX of which container, for which architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.rules.choice import Via
from pipeline.rules.obstacle import Certainty
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.paths import MemberPath
    from pipeline.rules.subject import Aim, Load
    from pipeline.rules.unit import Image

_COMPILED_ALL_THE_SAME = frozenset(("ptx-isa", "jit-feature", "static-shared-memory"))


@dataclass(frozen=True, slots=True)
class Text:
    """A PTX image by where it lies: its container, and its place among that container's images."""

    container: MemberPath
    place: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """PTX that a driver would compile for the architecture ``arch`` (``90a``)."""

    text: Text
    library: MemberPath
    image: str
    arch: str


def wanted_by(aim: Aim) -> Iterator[Wanted]:
    """Every PTX image that the target's driver takes; what it cannot even read is for the audit to say."""
    for load in aim.loads:
        image, place = load.selection.image, _place(load)
        if image is None or place is None or load.excused or not _compiled(load):
            continue
        for path in load.unit.paths:
            yield Wanted(Text(path, place), load.unit.library, image.what, arch_of(image, aim.target.sm))


def served_by(aim: Aim) -> int:
    """How many containers the target takes machine code from."""
    return sum(load.unit.count for load in aim.loads if load.selection.loads and load.selection.via is Via.CUBIN)


def arch_of(image: Image, sm: int) -> str:
    """The architecture for which the JIT compiles the image on a GPU: the GPU's, with the suffix of the PTX."""
    suffix = image.arch.suffix.value if image.arch is not None else ""
    return f"{sm}{suffix}"


def _place(load: Load) -> int | None:
    return next((place for place, image in enumerate(flat(load.unit.images)) if image is load.selection.image), None)


def _compiled(load: Load) -> bool:
    """Whether the JIT is asked. PTX that is too new by its header is: its text has the last word."""
    if load.selection.via is not Via.JIT:
        return False
    return all(
        met.rule in _COMPILED_ALL_THE_SAME for met in load.selection.obstacles if met.certainty is Certainty.CERTAIN
    )
