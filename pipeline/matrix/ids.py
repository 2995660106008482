"""Lane ids: readable, unique, safe as file names, and the same whatever other lanes --lane selects."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.lane import Flavour, Platform, PrebuiltFile, PrebuiltUrl, PrebuiltWheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pipeline.matrix.lanes import Row
    from pipeline.matrix.mistakes import Mistake
    from pipeline.model.versions import ToolkitVersion

T = TypeVar("T")
Archs = tuple[TargetArch, ...]

_IN_THE_BASE = ("id", "flavour", "platform", "toolkit", "archs")
_LONGEST = 100
"""Characters of an id that is made; the schema takes as many of one that is written."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")


def lane_ids(rows: Sequence[Row], axes: Sequence[str]) -> list[str]:
    """The id of each row: its own, or one made of flavour, toolkit, architectures and the other axes' values.

    ``axes`` are those with several values. Two rows can still get one id: see ``repeated``.
    """
    toolkits = _labels({row.values["toolkit"] for row in rows if "toolkit" in row.values}, _TOOLKIT_LABELS)
    archs = _labels({row.values["archs"] for row in rows if row.values.get("archs")}, _ARCH_LABELS)
    extra = [name for name in axes if name not in _IN_THE_BASE]
    return [row.values["id"] if "id" in row.values else _made(row, toolkits, archs, extra) for row in rows]


def repeated(rows: Sequence[Row], ids: Sequence[str]) -> Iterator[Mistake]:
    """One mistake for each id that several rows have, at the second of them."""
    places: defaultdict[str, list[Row]] = defaultdict(list)
    for row, lane_id in zip(rows, ids, strict=True):
        places[lane_id].append(row)
    for lane_id, same in places.items():
        if len(same) > 1:
            message = f"{len(same)} lanes would be called {lane_id!r}, the first from line {same[0].position.line}"
            yield same[1].wrong("id", message, "give each an id: of its own")


def too_long(rows: Sequence[Row], ids: Sequence[str]) -> Iterator[Mistake]:
    """One mistake for each id that would be too long a name for a folder, an artifact or a job."""
    for row, lane_id in zip(rows, ids, strict=True):
        if len(lane_id) > _LONGEST:
            message = f"a lane id of {len(lane_id)} characters is made of what the axes say, {lane_id[:40]}…"
            yield row.wrong("id", message, f"at most {_LONGEST}: include the lane instead, with an id: of its own")


def _made(row: Row, toolkits: dict[ToolkitVersion, str], archs: dict[Archs, str], extra: Sequence[str]) -> str:
    parts = ["prebuilt"] if isinstance(row.values["source"], PrebuiltFile | PrebuiltUrl | PrebuiltWheel) else []
    if row.flavour is Flavour.CUDA:
        toolkit, arch = row.values.get("toolkit"), row.values.get("archs")
        parts += ["cuda" + (toolkits[toolkit] if toolkit else "")] + ([archs[arch]] if arch else [])
    else:
        parts.append("cpu")
    platform = row.values.get("platform", Platform.X86_64)
    parts += [] if platform is Platform.X86_64 else [platform.value]
    parts += [_UNSAFE.sub("-", row.combination[name]).strip("-") for name in extra if name in row.combination]
    return "-".join(part for part in parts if part)


def _labels(values: set[T], makers: Sequence[Callable[[T], str]]) -> dict[T, str]:
    """A label for each value by the first maker that gives all of them different ones, else by the last."""
    labels: dict[T, str] = {}
    for make in makers:
        labels = {value: make(value) for value in values}
        if len(set(labels.values())) == len(values):
            break
    return labels


def _endpoints(archs: Archs) -> str:
    names = _names(archs)
    return f"sm{names[0]}" if len(names) == 1 else f"sm{names[0]}-{names[-1]}"


def _names(archs: Archs) -> list[str]:
    return list(dict.fromkeys(arch.name for arch in archs))


def _with_kinds(archs: Archs) -> str:
    return "sm" + "-".join(arch.name + ("v" if arch.kind is ArchKind.VIRTUAL else "") for arch in archs)


_TOOLKIT_LABELS: tuple[Callable[[ToolkitVersion], str], ...] = (lambda it: f"{it.major}.{it.minor}", str)
_ARCH_LABELS: tuple[Callable[[Archs], str], ...] = (
    _endpoints,
    lambda archs: "sm" + "-".join(_names(archs)),
    _with_kinds,
)
