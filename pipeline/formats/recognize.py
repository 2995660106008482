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
    RPM = "rpm package"
    SEVEN_ZIP = "7z archive"
    RAR = "rar archive"
    CPIO = "cpio archive"
    CABINET = "cabinet archive"
    LZ4 = "lz4 stream"
    LZIP = "lzip stream"
    SQUASHFS = "squashfs image"
    SELF_EXTRACTING = "script with something packed behind it"
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
    (b"\xed\xab\xee\xdb", Kind.RPM),
    (b"7z\xbc\xaf\x27\x1c", Kind.SEVEN_ZIP),
    (b"Rar!\x1a\x07", Kind.RAR),
    (b"070701", Kind.CPIO),
    (b"070702", Kind.CPIO),
    (b"MSCF\0\0\0\0", Kind.CABINET),
    (b"\x04\x22\x4d\x18", Kind.LZ4),
    (b"LZIP\1", Kind.LZIP),
    (b"hsqs", Kind.SQUASHFS),
)
UNENTERED = frozenset(
    (
        *(Kind.RPM, Kind.SEVEN_ZIP, Kind.RAR, Kind.CPIO, Kind.CABINET, Kind.LZ4, Kind.LZIP, Kind.SQUASHFS),
        Kind.SELF_EXTRACTING,
    )
)
"""Archives that may hold anything and are not looked into: named, so that nobody takes them for examined."""
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
