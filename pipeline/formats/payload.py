"""Payloads of fatbin entries: unpack them within bounds and see whether they are what the header says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.binary import BufferView, FormatError
from pipeline.formats import elf
from pipeline.formats.cubin import cubin_facts, header_facts
from pipeline.formats.facts import Codec, EntryFacts, EntryKind
from pipeline.formats.fatbin import FLAG_SCRAMBLED
from pipeline.formats.inspection import NOTHING, Payload
from pipeline.formats.lz4_prefix import lz4_prefix
from pipeline.formats.ptx import check_packed_ptx, whole_text

if TYPE_CHECKING:
    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets
    from pipeline.formats.elf import ElfImage
    from pipeline.formats.facts import KernelFacts, PtxContent
    from pipeline.formats.kernels import KernelNames
    from pipeline.model.arch import TargetArch

CODE_OF_ABI_7 = (1, 7)
PACKED_HEAD = 128
"""Bytes of an LZ4 block that surely hold the 64 of an ELF header."""


@dataclass(slots=True)
class Allowance:
    """Unpacked bytes that a run which is not deep may still read of one file's payloads."""

    left: int

    def grants(self, size: int) -> bool:
        """Whether so many bytes are left, which are then gone."""
        granted = size <= self.left
        self.left -= size if granted else 0
        return granted


@dataclass(frozen=True, slots=True)
class Glance:
    """The inspection of a run that is not deep: the first 64 bytes of cubins, and small cubins whole.

    A small cubin is worth unpacking because the ELF without kernels that nvcc links into programs is small. Of those
    that LZ4 packs, the header is unpacked where it names the toolkit (ABI 7): only there can a driver be old enough for
    the CUDA major to matter. With an ``allowance``, as files of moderate size have, PTX and larger cubins are read too.
    """

    budgets: Budgets
    allowance: Allowance | None = None

    def of_file(self, size: int) -> Glance:
        """With a fresh allowance where the file is no larger than what may be held."""
        fresh = Allowance(self.budgets.perused) if size <= self.budgets.buffered else None
        return replace(self, allowance=fresh)

    def of_linker_input(self) -> Glance:
        """Without an allowance."""
        return replace(self, allowance=None)

    def appetite(self, entry: EntryFacts) -> int:
        """All of a small cubin or text, the ELF header of a plain one, nothing of anything else."""
        if entry.kind not in {EntryKind.CUBIN, EntryKind.PTX}:
            return 0
        if max(entry.payload_size, entry.uncompressed_size) <= self.budgets.examined:
            return entry.payload_size
        if entry.kind is EntryKind.PTX:
            return 0
        if entry.codec is Codec.LZ4 and entry.code_version == CODE_OF_ABI_7:
            return min(PACKED_HEAD, entry.payload_size)
        return elf.HEADER_SIZE if entry.codec is Codec.NONE and entry.payload_size >= elf.HEADER_SIZE else 0

    def __call__(self, view: View, entry: EntryFacts) -> Payload:
        """Report the cubin's facts where they are cheap; say nothing about anything else."""
        wanted = self.appetite(entry)
        small_text = wanted > 0 and entry.kind is EntryKind.PTX
        if small_text or (wanted != entry.payload_size and self._perused(entry)):
            return peruse(view, entry, self.budgets)
        if wanted == 0:
            return NOTHING
        if wanted == entry.payload_size:
            return examine(view, entry, self.budgets)
        head = view.read(entry.offset + entry.header_size, wanted)
        if entry.codec is Codec.LZ4:
            return _packed_header(head)
        try:
            return Payload(cubin=header_facts(elf.parse_header(head)))
        except FormatError as error:
            return Payload(error=f"the cubin's header is damaged: {error.message}")

    def _perused(self, entry: EntryFacts) -> bool:
        size = max(entry.payload_size, entry.uncompressed_size)
        if self.allowance is None or entry.flags & FLAG_SCRAMBLED:
            return False
        small = entry.kind is EntryKind.CUBIN and size <= self.budgets.perused_cubin
        return (small or entry.kind is EntryKind.PTX) and self.allowance.grants(size)


def peruse(view: View, entry: EntryFacts, budgets: Budgets) -> Payload:
    """Read one payload of PTX or machine code; damage in it is for deep runs to find."""
    try:
        content = unpack(view, entry, budgets)
        if entry.kind is EntryKind.CUBIN:
            return Payload(cubin_facts(elf.read_elf(BufferView(content), budgets)))
        return Payload(text=content_of_ptx(whole_text(content, entry.ptx), entry.arch, budgets))
    except FormatError:
        return NOTHING


def _packed_header(head: bytes) -> Payload:
    """What the start of an LZ4 block tells; damage in packed payloads is for deep runs to find."""
    try:
        return Payload(cubin=header_facts(elf.parse_header(lz4_prefix(head, elf.HEADER_SIZE))))
    except FormatError:
        return NOTHING


@dataclass(frozen=True, slots=True)
class Examination:
    """The inspection of a deep run: every payload is unpacked and read; ``names`` ask for its kernels as well."""

    budgets: Budgets
    names: KernelNames | None = None

    def appetite(self, entry: EntryFacts) -> int:
        """Everything, up to the limit."""
        return entry.payload_size if entry.payload_size <= self.budgets.payload else 0

    def of_file(self, size: int) -> Examination:  # noqa: ARG002
        """Itself: everything is read of every file."""
        return self

    def of_linker_input(self) -> Examination:
        """Itself."""
        return self

    def __call__(self, view: View, entry: EntryFacts) -> Payload:
        """Report the payload's facts, or what is wrong with it."""
        return examine(view, entry, self.budgets, self.names)


def examine(view: View, entry: EntryFacts, budgets: Budgets, names: KernelNames | None = None) -> Payload:
    """Unpack and read one payload; scrambled LTO-IR cannot be unpacked and is left alone."""
    if entry.flags & FLAG_SCRAMBLED:
        return NOTHING
    try:
        content = unpack(view, entry, budgets)
        if not entry.nested:
            return read_image(BufferView(content), entry, budgets, names)
        whole = BufferView(content)
        parts = ((whole.window(image.offset, image.payload_size), image) for image in entry.nested)
        return Payload(nested=tuple(read_image(part, image, budgets, names) for part, image in parts))
    except FormatError as error:
        return Payload(error=error.message)


def read_image(content: View, entry: EntryFacts, budgets: Budgets, names: KernelNames | None) -> Payload:
    """Read one unpacked image; ``FormatError`` where it is not what its header says."""
    if entry.kind == EntryKind.CUBIN:
        image = elf.read_elf(content, budgets)
        return Payload(cubin_facts(image), kernels=None if names is None else kernels_in_cubin(image, names))
    if entry.kind == EntryKind.PTX:
        text = content.head(content.size)
        check_packed_ptx(text)
        read = content_of_ptx(whole_text(text, entry.ptx), entry.arch, budgets)
        return Payload(text=read, kernels=None if names is None else kernels_in_ptx(text, names))
    return NOTHING


def kernels_in_cubin(image: ElfImage, names: KernelNames) -> tuple[KernelFacts, ...]:
    """``cubin_kernels``, which only runs that list kernels load."""
    from pipeline.formats.kernels import cubin_kernels

    return cubin_kernels(image, names)


def content_of_ptx(text: bytes, arch: TargetArch | None, budgets: Budgets) -> PtxContent:
    """``read_content``, which runs that meet no PTX do not load."""
    from pipeline.formats.ptx_content import read_content

    return read_content(text, arch, budgets)


def kernels_in_ptx(text: bytes, names: KernelNames) -> tuple[KernelFacts, ...]:
    """``ptx_kernels``, likewise."""
    from pipeline.formats.ptx_entries import ptx_kernels

    return ptx_kernels(text, names)


def unpack(view: View, entry: EntryFacts, budgets: Budgets) -> bytes:
    """Return the payload as the driver would see it; ``FormatError`` when it does not unpack to its stated size."""
    largest = max(entry.payload_size, entry.compressed_size, entry.uncompressed_size)
    if largest > budgets.payload:
        raise FormatError(f"a payload of {largest} bytes is larger than the limit of {budgets.payload}")
    packed = entry.compressed_size or entry.payload_size
    if packed > entry.payload_size:
        raise FormatError(f"compressed size {packed} exceeds the payload of {entry.payload_size} bytes")
    data = view.read(entry.offset + entry.header_size, packed)
    if entry.codec is Codec.NONE:
        return data
    unpacker = {Codec.LZ4: _unpack_lz4, Codec.ZSTD: _unpack_zstd}.get(entry.codec)
    if unpacker is None:
        raise FormatError(f"a payload compressed in a way not known here (flags {entry.flags:#x})")
    content = unpacker(data, entry.uncompressed_size)
    if len(content) != entry.uncompressed_size:
        raise FormatError(f"payload unpacks to {len(content)} bytes instead of {entry.uncompressed_size}")
    return content


def _unpack_lz4(data: bytes, size: int) -> bytes:
    import lz4.block

    try:
        return bytes(lz4.block.decompress(data, uncompressed_size=size))
    except (lz4.block.LZ4BlockError, ValueError, OverflowError, MemoryError) as error:
        raise FormatError("the LZ4 payload is damaged") from error


def _unpack_zstd(data: bytes, size: int) -> bytes:
    from pipeline.formats import decoders  # loads four libraries that most runs do not need

    decoder = decoders.zstd_decoder()
    try:
        content = decoder.decompress(data, size + 1)
    except decoders.decoding_errors() as error:
        raise FormatError("the Zstandard payload is damaged") from error
    if not decoder.eof:
        raise FormatError(f"the Zstandard payload does not end after {size} bytes")
    return content
