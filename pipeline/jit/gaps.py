"""Kernels that a source has on some GPUs and not on others: they stand inside an #if on __CUDA_ARCH__."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.jit.compilation import Compilation


@dataclass(frozen=True, slots=True)
class Gap:
    """``kernels`` (all instances of a template are one) that come out for ``holders``, lowest first, and not here."""

    compilation: Compilation
    kernels: tuple[str, ...]
    holders: tuple[int, ...]


def gaps(compilations: Sequence[Compilation]) -> Iterator[Gap]:
    """Every accepted compilation without kernels that the same file has by the same compiler for another GPU.

    A template that is instantiated otherwise is none: names of types may differ by architecture.
    """
    files: dict[tuple[str, str, str], list[tuple[Compilation, frozenset[str]]]] = {}
    for item in compilations:
        if item.ending is Ending.ACCEPTED:
            names = frozenset(group_of(kernel.name) for kernel in item.kernels)
            files.setdefault((item.source.name, item.file, item.compiler), []).append((item, names))
    for beside in files.values():
        everything = frozenset[str]().union(*(names for _, names in beside))
        for item, names in beside:
            missing = everything - names
            holders = sorted({other.sm for other, has in beside if missing & has})
            if missing:
                yield Gap(item, tuple(sorted(missing)), tuple(holders))
