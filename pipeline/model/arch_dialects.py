"""The dialects of architecture lists besides CMake's: torch's ``8.0;9.0a;12.0+PTX`` and nvcc's ``-gencode``.

Sources: torch/utils/cpp_extension.py (``_get_cuda_arch_flags``: an entry is machine code, ``+PTX`` adds PTX of the
same architecture; named generations); FlashInfer reads the same form with ``f``; nvcc manual, --generate-code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, TargetArch

if TYPE_CHECKING:
    from collections.abc import Iterator

_TORCH = re.compile(r"([1-9][0-9]?)\.([0-9])([af]?)(\+PTX)?", re.ASCII)
_GENERATIONS = (
    ("Kepler", "3.5+PTX"),
    ("Maxwell", "5.0;5.2+PTX"),
    ("Pascal", "6.0;6.1+PTX"),
    ("Volta", "7.0+PTX"),
    ("Turing", "7.5+PTX"),
    ("Ampere", "8.0;8.6+PTX"),
    ("Ada", "8.9+PTX"),
    ("Hopper", "9.0+PTX"),
    ("Blackwell", "10.0;10.3;12.0;12.1+PTX"),
)
_GENCODE = re.compile(r"(?:-gencode|--generate-code)(?:=|\s+)", re.ASCII)
_CLAUSE = re.compile(r"arch=(compute_[0-9]+[af]?),code=(\[[^\]]*\]|\S+)", re.ASCII)
_QUOTES = str.maketrans("", "", "\"'")


def parse_torch_archs(text: str) -> tuple[TargetArch, ...]:
    """Read ``TORCH_CUDA_ARCH_LIST``, separated by semicolons or spaces; ``ValueError`` says what is wrong."""
    words = [word for word in re.split(r"[;\s]+", text) if word]
    if not words:
        raise ValueError("the list is empty")
    return tuple(sorted({arch for word in words for arch in _torch(word)}))


def _torch(word: str) -> Iterator[TargetArch]:
    generation = next((content for name, content in _GENERATIONS if name == word), None)
    if generation is not None:
        yield from parse_torch_archs(generation)
        return
    found = _TORCH.fullmatch(word)
    if found is None:
        raise ValueError(f"{word!r} is not an architecture in torch's form (8.0, 9.0a, 12.0+PTX)")
    name = f"{found[1]}{found[2]}{found[3]}"
    yield TargetArch.of(name, ArchKind.REAL)
    if found[4]:
        yield TargetArch.of(name, ArchKind.VIRTUAL)


def parse_gencode(text: str) -> tuple[TargetArch, ...]:
    """Read ``-gencode arch=compute_90,code=[sm_90,compute_90] …``; ``ValueError`` says what is wrong."""
    clauses = [clause.strip() for clause in _GENCODE.split(text.translate(_QUOTES)) if clause.strip()]
    if not clauses:
        raise ValueError("the list is empty")
    return tuple(sorted({arch for clause in clauses for arch in _clause(clause)}))


def _clause(clause: str) -> Iterator[TargetArch]:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise ValueError(f"{clause!r} is not of the form arch=compute_NN,code=sm_NN")
    for code in found[2].strip("[]").split(","):
        yield TargetArch.parse(code.strip())


def looks_like_torch(text: str) -> bool:
    """Whether a list is in torch's dialect: its first word is a dotted capability or a generation's name."""
    first = re.split(r"[;\s]+", text.strip(), maxsplit=1)[0]
    return _TORCH.fullmatch(first) is not None or any(first == name for name, _ in _GENERATIONS)


def looks_like_gencode(text: str) -> bool:
    """Whether a list is in nvcc's dialect."""
    return _GENCODE.match(text.strip().translate(_QUOTES)) is not None
