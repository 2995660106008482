"""Tells libraries that are built once per CUDA version or architecture, of which the program loads one.

``libbitsandbytes_cuda118.so`` … ``libbitsandbytes_cuda130.so`` in one wheel, ``cuda_v12/libggml-cuda.so`` beside
``cuda_v13/libggml-cuda.so``, ``sm90/common_ops.abi3.so`` beside ``sm100/common_ops.abi3.so`` (sgl-kernel), or cubin
files such as ``gemm.sm_80.cubin``: members whose paths differ only in a CUDA version or SM number. On a target where
one of them serves completely, the others are set aside; where none does, all of them count. Which one the program
really picks is its own matter and not in the bytes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.model.paths import MemberPath
    from pipeline.rules.subject import Load

_VERSION = re.compile(r"(?<![a-z])cu(?:da)?[-_]?v?1[0-9](?:[._]?[0-9]{1,2})?(?![0-9])", re.ASCII | re.IGNORECASE)

_ARCHITECTURE = re.compile(r"(?<![a-z0-9])sm_?[0-9]{2,3}[af]?(?![a-z0-9])", re.ASCII | re.IGNORECASE)


def neutral(library: MemberPath) -> tuple[str, ...]:
    """The path inside the artifact without the CUDA version or SM number in it."""
    if len(library.parts) == 1:
        return library.parts
    inside = (_ARCHITECTURE.sub("sm*", _VERSION.sub("cuda*", part)) for part in library.parts[1:])
    return (library.parts[0], *inside)


def set_aside(loads: tuple[Load, ...]) -> frozenset[MemberPath]:
    """The variants that a program can do without on this target, because another one serves."""
    served: dict[MemberPath, bool] = {}
    for load in loads:
        library = load.unit.library
        served[library] = served.get(library, True) and (load.excused or load.selection.loads)
    groups: dict[tuple[str, ...], list[MemberPath]] = {}
    for library in served:
        groups.setdefault(neutral(library), []).append(library)
    return frozenset(
        library
        for group in groups.values()
        if any(served[member] for member in group)
        for library in group
        if not served[library]
    )


def excuse_variants(loads: tuple[Load, ...], aside: frozenset[MemberPath]) -> tuple[Load, ...]:
    """The loads, those of variants that are set aside excused."""
    if not aside:
        return loads
    return tuple(replace(load, excused=True) if load.unit.library in aside else load for load in loads)
