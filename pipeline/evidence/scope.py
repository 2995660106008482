"""What a lane promises, as far as a check depends on it: evidence for yesterday's promise never approves today's."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import __version__
from pipeline.model.lane import PathSource, PrebuiltFile

if TYPE_CHECKING:
    from pipeline.model.lane import Lane, Source


def scope_of(lane: Lane, check: str) -> str:
    """Digest of what ``lane`` promises as far as ``check`` depends on it.

    A build depends on source, recipe and compilation; an audit on the declared device code, floors and targets, on
    what is declared absent by design, on the asset's name and on this version of the rules; a smoke on how the bundle
    is served.
    """
    kind = check.partition("@")[0]
    origin = (_portable(lane.source), lane.bundle)
    if kind == "build":
        promise: tuple[object, ...] = (*origin, lane.recipe, lane.toolkit_origin, *_compilation(lane))
    elif kind == "smoke":
        promise = (lane.smoke, lane.base_image)
    elif kind == "diff":
        promise = (__version__, _previous(lane), sorted(lane.may_lose), lane.host_libraries, *_overrides(lane))
    elif kind == "jit":
        promise = (__version__, *(replace(source, folder=None) for source in lane.jit_sources))
    elif kind == "load":
        promise = (lane.smoke, lane.base_image, *_overrides(lane))
    else:
        host = (lane.host_glibc, lane.host_glibcxx, lane.host_cpu, lane.host_libraries)
        floors = (lane.driver_floor, *host, lane.size_budget)
        promise = (__version__, origin, floors, _aims(lane), *_overrides(lane), *_compilation(lane))
    return hashlib.sha256(repr((check, promise)).encode()).hexdigest()


def _compilation(lane: Lane) -> tuple[object, ...]:
    return (lane.flavour, lane.platform, lane.toolkit, lane.archs, lane.compression, lane.base_image)


def _aims(lane: Lane) -> tuple[object, ...]:
    """What an audit judges; who runs the GPU and which proof suffices is no matter of the bytes."""
    return tuple((target.sm, target.driver, target.gpu) for target in lane.targets)


def _overrides(lane: Lane) -> tuple[object, ...]:
    """Which libraries may lack architectures. Sorted: the order of patterns promises nothing."""
    return (sorted(lane.by_design), sorted(lane.never_by_design))


def _previous(lane: Lane) -> object:
    """Digest of the bundle released before; where its bytes come from promises nothing."""
    return lane.previous.sha256 if lane.previous is not None else None


def _portable(source: Source) -> object:
    """The source without folders of this machine: evidence from one checkout must count in another."""
    return replace(source, path=Path(source.path.name)) if isinstance(source, PathSource | PrebuiltFile) else source
