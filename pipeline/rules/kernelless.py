"""Containers from which nothing can be launched: link stubs, and what nvcc writes for a file without kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.formats.facts import Codec, EntryKind

if TYPE_CHECKING:
    from pipeline.formats.facts import EntryFacts, FatbinFacts

# The kernel-less ELF that nvcc's device link step leaves in every program is 0.6 to 1.6 KiB for each toolkit from
# 11.8 to 13.5; the smallest cubin with a kernel is 2.3 KB. Only used where the payload cannot be read.
LARGEST_LINK_STUB = 1664
# What nvcc writes as PTX for a file without device code: version, target and address size, 56 to 68 bytes from 11.8 to
# 13.5. An entry function does not fit in what is left.
LARGEST_EMPTY_PTX = 72


def is_link_stub(fatbin: FatbinFacts) -> bool:
    """Whether the container is what nvcc's device link leaves behind when there is nothing to link: no kernels.

    It has one ELF for each real architecture of the list, and never PTX.
    """
    if not fatbin.entries or not fatbin.section:
        return False
    return all(entry.kind is EntryKind.CUBIN and _without_kernels(entry) for entry in fatbin.entries)


def has_no_kernels(fatbin: FatbinFacts) -> bool:
    """Whether nothing can be launched from the container: a link stub, or what nvcc writes for a file without kernels.

    Such a container is never loaded (modules are loaded when a kernel of theirs is launched), so it is neither
    coverage nor a gap, whatever architectures its list has. Where payloads were read, they decide.
    """
    first = fatbin.entries[0]
    if not first.nested and not _is_empty(first):
        return False  # as most: whatever the others are
    if is_link_stub(fatbin):
        return True
    entries = [inner for entry in fatbin.entries for inner in entry.nested or (entry,)]
    counted = [_kernels(entry) for entry in entries]
    read = None not in counted
    if read or not fatbin.section:
        return read and not any(counted)
    return any(entry.kind is EntryKind.CUBIN for entry in entries) and all(map(_is_empty, entries))


def _kernels(entry: EntryFacts) -> int | None:
    """How many kernels are in an image, ``None`` where it was not read."""
    if entry.kernels is not None:
        return len(entry.kernels)
    if entry.text is not None:
        return entry.text.kernels
    return entry.cubin.kernels if entry.cubin is not None else None


def _is_empty(entry: EntryFacts) -> bool:
    counted = _kernels(entry)
    if counted is not None:
        return counted == 0
    if entry.kind is EntryKind.PTX:
        return _size(entry) <= LARGEST_EMPTY_PTX
    return entry.kind is EntryKind.CUBIN and _without_kernels(entry)


def _size(entry: EntryFacts) -> int:
    return entry.uncompressed_size if entry.codec is not Codec.NONE else entry.payload_size


def _without_kernels(entry: EntryFacts) -> bool:
    if entry.cubin is not None and entry.cubin.kernels is not None:
        return entry.cubin.kernels == 0
    return _size(entry) <= LARGEST_LINK_STUB
