"""What a PTX text asks of a GPU: instructions that not every GPU has, shared memory; and whether it has kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.formats.facts import PtxContent
from pipeline.formats.kernels import KernelNames
from pipeline.formats.ptx import read_ptx
from pipeline.formats.ptx_entries import ptx_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.model.arch import TargetArch

# Strings and comments, whichever begins first; a block that does not end reaches to the end of the text.
_NOT_CODE = re.compile(rb'"[^"\n]*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)')
_INSTRUCTION = re.compile(rb"[\s;{}]([a-z][a-z0-9_]*+[.:][A-Za-z0-9_.:]++)")
_ORDINARY = re.compile(
    r"(?:ld|st|mov|add|sub|mul|mul24|mad|fma|cvt|cvta|setp|selp|set|shl|shr|and|or|xor|not|neg|abs|min|max|div|rem|rcp"
    r"|sqrt|rsqrt|ex2|lg2|sin|cos|bra|bar|brev|bfe|bfi|clz|popc|prmt|shf|copysign|testp|tex|call)"
    r"(?:\.(?:param|global|local|shared|const|to|[usbf](?:8|16|32|64)|pred|v2|v4|r[nzmp]i?|ftz|sat|lo|hi|wide|uni|sync"
    r"|approx|full|eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|nan|num|lo|ls|hs|nc|volatile|and|or|xor|l|r|wrap|clamp"
    r"|cc|warp))*"
)
_MOST = 10_000


def read_content(text: bytes, arch: TargetArch | None, budgets: Budgets) -> PtxContent:
    """Read a whole text; ``FormatError`` where it is none. Instructions are told only where it is for ``arch``."""
    code = _NOT_CODE.sub(b" ", text)
    kernels = ptx_kernels(code, KernelNames(budgets))
    largest = max(kernels, key=lambda kernel: kernel.static_shared or 0, default=None)
    same = read_ptx(text).target == arch
    return PtxContent(
        kernels=len(kernels),
        shared=(largest.static_shared or 0) if largest is not None else 0,
        largest=largest.name if largest is not None else "",
        instructions=tuple(sorted(set(_instructions(code)))[:_MOST]) if same else (),
    )


def _instructions(code: bytes) -> Iterator[str]:
    for found in set(_INSTRUCTION.findall(code)):
        name = found.decode().rstrip(":")
        if _ORDINARY.fullmatch(name) is None:
            yield name
