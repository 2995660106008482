"""The architecture is there, but this kernel is not.

What: the image that the driver takes of a container lacks kernels that other images of the same container have. The
finding names them by group: all instantiations of one template are a group. Only with --kernels. Of a lane's
jit_sources: a file has a kernel for one promised GPU and not for another, which leaves that one unknown.

Why: a __global__ function stands inside an #if on __CUDA_ARCH__, or cubins of different builds were packed together.
The module loads, everything else in it runs, and the first launch of that kernel fails with "named symbol not found"
(500), which the runtime reports as "invalid device function" (98). An arch list shows nothing of it.

Not every such kernel can be launched. nvcc writes the name of each that can into the host code, and where those names
are found, a kernel that is not among them is told as a note: bfloat16 kernels of onnxruntime and vllm have one name in
images below sm_80 and another from there on, and the program knows only the latter. A kernel that every image from some
architecture on has and none below has is told as a warning: the source was written so (torch's tinygemm_m16n8k16 and
CTranslate2's AWQ kernels), and whether the program asks for it on this GPU is not in the bytes. Without the host code a
kernel of whose group the image has other instantiations is told as a note. `never_by_design` counts all of it,
`by_design` of the lane excuses every gap.

Remedy: take __global__ out of the #if and guard its body, or promise no GPU below the one that the kernel needs.

Source: CUDA C++ Programming Guide, restrictions on __CUDA_ARCH__; measured: released wheels
(docs/evidence/coverage.md), H200 with driver 580.159.04.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.model.arch import ArchSuffix
from pipeline.model.paths import printable
from pipeline.rules.kernel_view import everything_served, kernel_examination
from pipeline.rules.naming import naming
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.declaration import Declaration
    from pipeline.rules.kernel_view import Listed, Served
    from pipeline.rules.subject import Aim, Subject

RULE = "kernel-missing"
ERROR = "CUDA_ERROR_NOT_FOUND"
_MOST_NAMED = 3
_LONGEST_NAME = 120


class Gap(Enum):
    """Why a kernel is not in an image, as far as the images beside it show."""

    LOST = "lost"
    NEVER_LAUNCHED = "not known to the host code"
    WRITTEN_FOR_NEWER = "written for newer GPUs"
    OTHER_INSTANTIATION = "instantiated otherwise"


@dataclass(frozen=True, slots=True)
class Missing:
    """The kernels that are missing for one reason: how many, their groups, and the architectures that have them."""

    gap: Gap
    count: int
    groups: tuple[str, ...]
    holders: tuple[str, ...]


def check(subject: Subject) -> Examination:
    """Every container whose chosen image lacks kernels of its neighbours."""
    claims = (
        _claim(aim, container, missing, subject.declaration)
        for aim, container in everything_served(subject)
        for missing in gaps(container)
    )
    return kernel_examination(subject, tuple(claims))


def gaps(container: Served) -> Iterator[Missing]:
    """What the chosen image lacks, by reason."""
    names = [(listed, listed.names) for listed in container.images]
    mine = frozenset[str]().union(*(have for listed, have in names if listed.image == container.chosen.image))
    lacking = sorted(frozenset[str]().union(*(have for _, have in names)) - mine)
    if not lacking:
        return
    found: dict[tuple[Gap, tuple[str, ...]], list[str]] = {}
    for name in lacking:
        holders = [listed for listed, have in names if name in have]
        gap = _gap(name, container, holders, names)
        archs = tuple(dict.fromkeys(str(listed.image.arch) for listed in holders))
        found.setdefault((gap, archs), []).append(name)
    for (gap, archs), group in found.items():
        yield Missing(gap, len(group), tuple(dict.fromkeys(map(group_of, group))), archs)


def _gap(name: str, container: Served, holders: list[Listed], names: list[tuple[Listed, frozenset[str]]]) -> Gap:
    """Why the chosen image lacks the kernel, by what decides most."""
    if container.registered is not None and name not in container.registered:
        return Gap.NEVER_LAUNCHED
    swapped = container.registered is None and group_of(name) in _own_groups(container.chosen, names)
    if swapped:
        return Gap.OTHER_INSTANTIATION
    lowest = min(_rank(listed) for listed in holders)
    gated = all(name in have or _rank(listed) < lowest for listed, have in names)
    return Gap.WRITTEN_FOR_NEWER if gated and _rank(container.chosen) < lowest else Gap.LOST


def _own_groups(chosen: Listed, names: list[tuple[Listed, frozenset[str]]]) -> set[str]:
    """Groups of which the chosen image has an instantiation that some other image lacks."""
    return {group_of(name) for name in chosen.names if not all(name in have for _, have in names)}


def _rank(listed: Listed) -> tuple[int, bool]:
    """Architectures in the order of what source code may ask for: ``sm_90a`` has more than ``sm_90``."""
    arch = listed.image.arch
    return (arch.number, arch.suffix is not ArchSuffix.NONE) if arch is not None else (0, False)


def _claim(aim: Aim, container: Served, missing: Missing, declaration: Declaration | None) -> Claim:
    library = container.load.unit.library
    effect, ruling = _effect(missing.gap, container, declaration)
    return Claim(
        rule=RULE,
        effect=effect,
        path=str(container.path),
        declared=f"every kernel runs on sm_{aim.target.sm}{ruling}",
        observed=f"{container.chosen.image.what} lacks {_told(missing)}",
        remedy="guard the kernel's body with #if, not its definition, or promise no GPU that lacks it",
        targets=(aim.label,),
        error=ERROR if effect is Effect.FAIL else "",
        group=str(library),
    )


def _effect(gap: Gap, container: Served, declaration: Declaration | None) -> tuple[Effect, str]:
    library = container.load.unit.library
    if declaration is not None:
        if pattern := naming(library, declaration.never_by_design):
            return Effect.FAIL, f" (never_by_design: {pattern})"
        if pattern := naming(library, declaration.by_design):
            return Effect.NOTE, f" (by_design: {pattern})"
    if gap in {Gap.NEVER_LAUNCHED, Gap.OTHER_INSTANTIATION} or is_toolkit_library(library.name):
        return Effect.NOTE, ""
    return (Effect.WARNING if gap is Gap.WRITTEN_FOR_NEWER else Effect.FAIL), ""


def _told(missing: Missing) -> str:
    shown = [_shortened(group) for group in missing.groups[:_MOST_NAMED]]
    more = len(missing.groups) - len(shown)
    groups = ", ".join(shown) + (f" and {more} more groups" if more else "")
    kernels = "kernel" if missing.count == 1 else "kernels"
    why = "" if missing.gap is Gap.LOST else f" ({missing.gap.value})"
    return f"{missing.count} {kernels} that {', '.join(missing.holders)} have: {groups}{why}"


def _shortened(group: str) -> str:
    text = printable(group)
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"
