"""The dialects of architecture lists besides CMake's: torch's ``8.0;9.0a;12.0+PTX`` and nvcc's ``-gencode``.

Sources: torch 2.8.0, torch/utils/cpp_extension.py (``_get_cuda_arch_flags``: an entry is machine code, ``+PTX`` adds
PTX of the same architecture; named generations); FlashInfer reads the same form with ``f``; nvcc manual,
--generate-code.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch

if TYPE_CHECKING:
    from collections.abc import Iterator

_TORCH = re.compile(r"([1-9][0-9]?)\.([0-9])([af]?)(\+PTX)?", re.ASCII)
# Blackwell+Tegra is not here: it means 10.1 or 11.0, depending on torch's version.
_GENERATIONS = {
    "Kepler+Tesla": "3.7",
    "Kepler": "3.5+PTX",
    "Maxwell+Tegra": "5.3",
    "Maxwell": "5.0;5.2+PTX",
    "Pascal": "6.0;6.1+PTX",
    "Volta+Tegra": "7.2",
    "Volta": "7.0+PTX",
    "Turing": "7.5+PTX",
    "Ampere+Tegra": "8.7",
    "Ampere": "8.0;8.6+PTX",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}
_GENCODE = re.compile(r"(?:^|\s)(?:-gencode|--generate-code)(?:=|\s+)", re.ASCII)
_CLAUSE = re.compile(r"arch=(compute_[0-9]+[af]?),code=(\[[^\]]*\]|[^\s\[\]]+)", re.ASCII)
_QUOTES = str.maketrans("", "", "\"'")


class Dialect(StrEnum):
    """Whose form a list is in."""

    CMAKE = "CMake"
    TORCH = "torch"
    NVCC = "nvcc"


def dialect_of(text: str) -> Dialect:
    """The dialect of the whole list; ``ValueError`` where its words are of several."""
    words = [word for word in re.split(r"[;,\s]+", text.translate(_QUOTES)) if word]
    found = {_dialect(word): word for word in reversed(words)}  # the first word of each
    if len(found) > 1:
        told = " and ".join(f"{word!r} is {dialect}'s" for dialect, word in reversed(found.items()))
        raise ValueError(f"{text!r} mixes dialects: {told}")
    return next(iter(found), Dialect.CMAKE)


def _dialect(word: str) -> Dialect:
    if word.startswith("-") or "=" in word or re.match(r"\[?(?:sm|compute|lto)_", word):
        return Dialect.NVCC
    if "." in word or "+" in word or word in _GENERATIONS:
        return Dialect.TORCH
    return Dialect.CMAKE


def parse_torch_archs(text: str) -> tuple[TargetArch, ...]:
    """Read ``TORCH_CUDA_ARCH_LIST``, separated by semicolons or spaces; ``ValueError`` says what is wrong."""
    words = [word for word in re.split(r"[;\s]+", text) if word]
    if not words:
        raise ValueError("the list is empty")
    return tuple(sorted({arch for word in words for arch in _torch(word)}))


def _torch(word: str) -> Iterator[TargetArch]:
    if word in _GENERATIONS:
        yield from parse_torch_archs(_GENERATIONS[word])
        return
    found = _TORCH.fullmatch(word)
    if found is None:
        raise ValueError(f"{word!r} is not an architecture in torch's form (8.0, 9.0a, 12.0+PTX)")
    name = f"{found[1]}{found[2]}{found[3]}"
    yield TargetArch.of(name, ArchKind.REAL)
    if found[4]:
        yield TargetArch.of(name, ArchKind.VIRTUAL)


def parse_gencode(text: str) -> tuple[TargetArch, ...]:
    """Read ``-gencode arch=compute_90,code=[sm_90,compute_90] …``; ``ValueError`` says what is wrong.

    Words may be separated by semicolons, as in CMake's lists of flags.
    """
    before, *clauses = (part.strip() for part in _GENCODE.split(text.translate(_QUOTES).replace(";", " ")))
    if before or not clauses:
        raise ValueError(f"{before or text!r} is not of the form -gencode arch=compute_NN,code=sm_NN")
    return tuple(sorted({arch for clause in clauses for arch in _clause(clause)}))


def _clause(clause: str) -> Iterator[TargetArch]:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise ValueError(f"{clause!r} is not of the form arch=compute_NN,code=sm_NN")
    front = TargetArch.parse(found[1])
    for word in found[2].strip("[]").split(","):
        code = TargetArch.parse(word.strip())
        if not _compiles(front, code):
            raise ValueError(f"{clause!r}: nvcc makes no {code} from {front}")
        yield code


def _compiles(front: TargetArch, code: TargetArch) -> bool:
    """Whether nvcc takes the pair: PTX is that of ``arch`` itself, machine code that of it or of something newer.

    ``a`` code is for one SM only, ``f`` code for one family, which is within a major.
    """
    if code.kind is ArchKind.VIRTUAL or front.suffix is ArchSuffix.SPECIFIC:
        return code.name == front.name
    if front.suffix is ArchSuffix.FAMILY and code.major != front.major:
        return False
    return code.number >= front.number
