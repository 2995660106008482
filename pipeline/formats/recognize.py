"""Tell by its first bytes, never by its name, what a member is."""

from __future__ import annotations

from enum import StrEnum

from pipeline.formats import ar, compression, elf, fatbin, pkzip, ptx, tar

# Enough for a tar header and for the comments that stand before the first directive of PTX.
HEAD = 16 << 10
_CUBIN_MACHINE = elf.MACHINE_CUDA.to_bytes(2, "little")


class Kind(StrEnum):
    """What this program can look into, and the few things it names without looking."""

    EMPTY = "empty"
    ELF = "elf"
    CUBIN = "cubin"
    FATBIN = "fatbin"
    PTX = "ptx"
    LTO_IR = "lto-ir"
    TILE_IR = "tile-ir"
    AR = "ar"
    DEB = "deb"
    TAR = "tar"
    ZIP = "zip"
    COMPRESSED = "compressed"
    FOREIGN_ELF = "elf, not 64-bit little-endian"
    PE = "pe"
    MACHO = "mach-o"
    LLVM = "llvm bitcode"
    GGUF = "gguf"
    DATA = "data"


_MAGICS: tuple[tuple[bytes, Kind], ...] = (
    (fatbin.MAGIC, Kind.FATBIN),
    (b"\x7fTileIR\0", Kind.TILE_IR),
    (b"\xed\x43\x4e\x7f", Kind.LTO_IR),
    (b"BC\xc0\xde", Kind.LLVM),
    (b"GGUF", Kind.GGUF),
    (b"\xfe\xed\xfa\xce", Kind.MACHO),
    (b"\xfe\xed\xfa\xcf", Kind.MACHO),
    (b"\xce\xfa\xed\xfe", Kind.MACHO),
    (b"\xcf\xfa\xed\xfe", Kind.MACHO),
    (b"\xca\xfe\xba\xbe", Kind.MACHO),
)
_ANY_MAGIC = tuple(magic for magic, _ in _MAGICS)


def recognize(head: bytes) -> Kind:
    """The kind of a member that begins with ``head`` (up to ``HEAD`` bytes)."""
    if not head:
        return Kind.EMPTY
    if head.startswith(elf.MAGIC):
        return _elf_kind(head)
    if head.startswith(_ANY_MAGIC):
        return next(kind for magic, kind in _MAGICS if head.startswith(magic))
    return _by_structure(head)


def _elf_kind(head: bytes) -> Kind:
    if elf.foreign(head) is not None:
        return Kind.FOREIGN_ELF
    return Kind.CUBIN if head[18:20] == _CUBIN_MACHINE else Kind.ELF


def _by_structure(head: bytes) -> Kind:
    """Formats that take more than a few fixed bytes to tell."""
    for test, kind in _TESTS:
        if test(head):
            return kind
    return Kind.DATA


def _is_pe(head: bytes) -> bool:
    if not head.startswith(b"MZ"):
        return False
    at = int.from_bytes(head[0x3C:0x40], "little")
    return head[at : at + 4] == b"PE\0\0"


_TESTS = (
    (ar.is_deb, Kind.DEB),
    (ar.is_ar, Kind.AR),
    (pkzip.is_zip, Kind.ZIP),
    (compression.is_compressed, Kind.COMPRESSED),
    (_is_pe, Kind.PE),
    (tar.is_tar, Kind.TAR),
    (ptx.looks_like_ptx, Kind.PTX),
)
