"""Members that are ELF files or device code: read their facts and note them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.formats import device
from pipeline.formats.cubin import cubin_facts
from pipeline.formats.elf import read_elf
from pipeline.formats.facts import BareImage, Codec, CubinFacts, EntryFacts, EntryKind, FatbinFacts, KernelFacts
from pipeline.formats.host import read_host
from pipeline.formats.payload import content_of_ptx, kernels_in_cubin, kernels_in_ptx
from pipeline.formats.ptx import PtxFacts, read_ptx
from pipeline.formats.registered import registered_names
from pipeline.formats.stream import Stream
from pipeline.model.arch import ArchSuffix

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets
    from pipeline.formats.device import Container, Flaw
    from pipeline.formats.elf import ElfImage
    from pipeline.formats.fatbin import ContainerReader
    from pipeline.inventory.ledger import Ledger
    from pipeline.model.arch import TargetArch
    from pipeline.model.paths import MemberPath

_SUFFIX_FLAG = {ArchSuffix.NONE: 0, ArchSuffix.SPECIFIC: 0x100000, ArchSuffix.FAMILY: 0x200000}


def visit_elf(view: View, path: MemberPath, ledger: Ledger, reader: ContainerReader) -> None:
    """Note a host ELF file and the containers in it; ``FormatError`` when its tables cannot be read."""
    image = read_elf(view, ledger.budgets)
    wrappers = device.wrapper_versions(image)
    before = len(ledger.fatbins)
    found = _note_containers(device.containers(image, reader), path, ledger, wrappers)
    if ledger.names is not None:
        ledger.fatbins[before:] = _with_registered(image, ledger.fatbins[before:], ledger.budgets)
    ledger.elves.append(read_host(image, path, has_device_code=found > 0, budgets=ledger.budgets))


def _with_registered(image: ElfImage, fatbins: list[FatbinFacts], budgets: Budgets) -> list[FatbinFacts]:
    """The containers with what the host code around them can launch by name."""
    images = (inner for fatbin in fatbins for entry in fatbin.entries for inner in (entry.nested or (entry,)))
    names = {kernel.name.encode(): kernel.name for inner in images for kernel in inner.kernels or ()}
    registered = registered_names(image, names, budgets.name) if names else None
    return [replace(fatbin, registered=registered) for fatbin in fatbins] if registered is not None else fatbins


def visit_fatbin(view: View, path: MemberPath, ledger: Ledger, reader: ContainerReader) -> None:
    """Note the containers of a bare fatbin file."""
    _note_containers(device.read_run(view, "", (0, view.size), reader), path, ledger, {})


def _note_containers(
    found: Iterable[Container | Flaw], path: MemberPath, ledger: Ledger, wrappers: dict[int, int]
) -> int:
    counts: dict[str, int] = {}
    sections = {"": path}
    for item in found:
        index = counts[item.section] = counts.get(item.section, -1) + 1
        around = sections.get(item.section) or sections.setdefault(item.section, path.child(item.section))
        place = around.child(str(index))
        if isinstance(item, device.Flaw):
            ledger.damage(place, f"{item.what} (at offset {item.offset:#x})")
            continue
        ledger.fatbins.append(_facts(item, place, index, wrappers.get(item.offset)))
        for entry in item.entries:
            if entry.payload_error is not None:
                ledger.damage(place.child(str(entry.index)), entry.payload_error)
    return sum(last + 1 for last in counts.values())


def _facts(item: Container, place: MemberPath, index: int, wrapper: int | None) -> FatbinFacts:
    return FatbinFacts(
        path=place,
        section=item.section,
        index=index,
        offset=item.offset,
        size=item.header.size,
        version=item.header.version,
        entries=item.entries,
        relocatable=item.section == device.LINKED or _for_a_linker(item),
        wrapper=wrapper,
    )


def _for_a_linker(item: Container) -> bool:
    """Whether a container that no runtime registers holds relocatable cubins only, as far as they tell.

    Libraries keep such parts as data and link them themselves (libcusparse 12.5, through nvJitLink). Given to a driver
    as they are, 24 of its containers answered CUDA_ERROR_NOT_FOUND on an H200 with driver 580.159.04.
    """
    known = [entry.cubin.relocatable for entry in item.entries if entry.cubin is not None]
    return item.section != device.LOADED and bool(known) and all(known)


def visit_cubin(view: View, path: MemberPath, ledger: Ledger) -> None:
    """Note a cubin file."""
    image = read_elf(view, ledger.budgets)
    facts = cubin_facts(image)
    kernels = None if ledger.names is None else kernels_in_cubin(image, ledger.names)
    ledger.bare.append(BareImage(path, _bare(EntryKind.CUBIN, facts.arch, view.size, facts, kernels)))


def visit_ptx(content: View | Stream, path: MemberPath, ledger: Ledger) -> None:
    """Note a PTX file; it is read to its end where the text can be held."""
    limit = ledger.budgets.buffered if ledger.deep else ledger.budgets.perused
    head = content.peek(limit) if isinstance(content, Stream) else content.head(limit)
    facts = read_ptx(head)
    size = _size(content)
    complete = size <= len(head)
    kernels = None if ledger.names is None or not complete else kernels_in_ptx(head, ledger.names)
    entry = _bare(EntryKind.PTX, facts.target, size, facts, kernels)
    text = content_of_ptx(head, facts.target, ledger.budgets) if complete else None
    ledger.bare.append(BareImage(path, replace(entry, text=text)))


def visit_unlinked(kind: EntryKind, content: View | Stream, path: MemberPath, ledger: Ledger) -> None:
    """Note an LTO-IR or Tile IR file; neither says outside a container what it is for."""
    ledger.bare.append(BareImage(path, _bare(kind, None, _size(content), None)))


def _size(content: View | Stream) -> int:
    return content.drain() if isinstance(content, Stream) else content.size


def _bare(
    kind: EntryKind,
    arch: TargetArch | None,
    size: int,
    facts: CubinFacts | PtxFacts | None,
    kernels: tuple[KernelFacts, ...] | None = None,
) -> EntryFacts:
    """A bare image in the form of an entry: no header, not compressed."""
    cubin = facts if isinstance(facts, CubinFacts) else None
    ptx = facts.version if isinstance(facts, PtxFacts) else None
    code = (1, cubin.abi) if cubin else (ptx.major, ptx.minor) if ptx else (0, 0)
    return EntryFacts(
        index=0,
        kind=kind,
        arch=arch,
        codec=Codec.NONE,
        flags=_SUFFIX_FLAG[arch.suffix] if arch else 0,
        code_version=code,
        ptx=ptx,
        offset=0,
        header_size=0,
        payload_size=size,
        compressed_size=0,
        uncompressed_size=0,
        identifier="",
        cubin=cubin,
        kernels=kernels,
    )
