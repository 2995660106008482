"""Facts of one file as JSON and back, without loss; paths are kept relative to the file, wherever it lies next time."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from pipeline.environments.columns import coded, column, decoded, plain
from pipeline.formats.facts import (
    BareImage,
    CubinFacts,
    ElfFacts,
    EntryFacts,
    FatbinFacts,
    LoaderConf,
    MetadataFile,
    Opaque,
    PtxContent,
    SymbolNeed,
)
from pipeline.model.arch import TargetArch
from pipeline.model.image import Codec, EntryKind
from pipeline.model.paths import MemberPath
from pipeline.model.versions import PtxVersion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.inventory.ledger import Ledger

Json = Any
_NUMBERS = ("index", "flags", "offset", "header_size", "payload_size", "compressed_size", "uncompressed_size")
_OF_CONTAINER = ("index", "offset", "size", "version", "relocatable", "wrapper")
_LISTS = ("needed", "rpath", "runpath", "dlopen_names", "dlsym_names", "driver_exports", "version_definitions")


def can_be_kept(ledger: Ledger) -> bool:
    """Whether the facts are of the kinds that are kept: images, damage and kernels are looked at again each time."""
    return not (ledger.damages or ledger.images or ledger.names is not None or ledger.deep)


def write_facts(ledger: Ledger, place: MemberPath) -> Json:
    """What was found in the file at ``place``."""
    depth = len(place.parts)
    return {
        "members": ledger.members,
        "files": [[_below(path, depth), size] for path, size in ledger.files.items()],
        "links": [[_below(path, depth), target] for path, target in ledger.links.items()],
        "opaque": [[_below(item.path, depth), item.what, item.size] for item in ledger.opaque],
        "confs": [[_below(item.path, depth), list(item.lines)] for item in ledger.loader_confs],
        "metadata": [[_below(item.path, depth), item.text] for item in ledger.metadata],
        "elves": [_write_elf(item, depth) for item in ledger.elves],
        "fatbins": _write_fatbins(ledger.fatbins, depth),
        "bare": [[_below(item.path, depth), _write_entries([item.entry])] for item in ledger.bare],
    }


def read_facts(content: Json, place: MemberPath, ledger: Ledger) -> None:
    """Fill an empty ledger with what ``write_facts`` wrote.

    ``ValueError``, ``KeyError``, ``TypeError``, ``IndexError`` or ``AttributeError`` when that is not what it is.
    """
    ledger.members = int(content["members"])
    ledger.files |= {_at(place, path): size for path, size in content["files"]}
    ledger.links |= {_at(place, path): target for path, target in content["links"]}
    ledger.opaque += [Opaque(_at(place, path), what, size) for path, what, size in content["opaque"]]
    ledger.loader_confs += [LoaderConf(_at(place, path), tuple(lines)) for path, lines in content["confs"]]
    ledger.metadata += [MetadataFile(_at(place, path), text) for path, text in content["metadata"]]
    ledger.elves += [_read_elf(item, place) for item in content["elves"]]
    ledger.fatbins += _read_fatbins(content["fatbins"], place)
    ledger.bare += [BareImage(_at(place, path), next(_read_entries(entry))) for path, entry in content["bare"]]


def _below(path: MemberPath, depth: int) -> list[str]:
    return list(path.parts[depth:])


def _at(place: MemberPath, below: list[str]) -> MemberPath:
    return MemberPath((*place.parts, *below)) if below else place


def _write_elf(elf: ElfFacts, depth: int) -> Json:
    plainly = {name: getattr(elf, name) for name in ElfFacts.__slots__ if name not in {"path", "imports", *_LISTS}}
    needs = elf.imports
    return {
        **plainly,
        **{name: list(getattr(elf, name)) for name in _LISTS},
        "path": _below(elf.path, depth),
        "version_needs": {library: list(versions) for library, versions in elf.version_needs.items()},
        "imports": [
            len(needs),
            [need.name for need in needs],
            coded([need.version for need in needs], _same),
            coded([need.library for need in needs], _same),
            column([need.weak for need in needs]),
        ],
    }


def _read_elf(content: Json, place: MemberPath) -> ElfFacts:
    count, names, versions, libraries, weak = content["imports"]
    imports = map(
        SymbolNeed,
        plain(names, count),
        decoded(versions, count, _same),
        decoded(libraries, count, _same),
        plain(weak, count),
    )
    facts = {
        **{name: value for name, value in content.items() if name != "imports"},
        **{name: tuple(content[name]) for name in _LISTS},
        "path": _at(place, content["path"]),
        "version_needs": {library: tuple(versions) for library, versions in content["version_needs"].items()},
    }
    return ElfFacts(imports=tuple(imports), **facts)


def _same(value: Json) -> Json:
    return value


def _write_fatbins(fatbins: Sequence[FatbinFacts], depth: int) -> Json:
    return {
        "count": len(fatbins),
        "around": coded([fatbin.path.parts[depth:-1] for fatbin in fatbins], list),
        "names": [fatbin.path.name for fatbin in fatbins],
        "section": coded([fatbin.section for fatbin in fatbins], _same),
        **{name: column([getattr(fatbin, name) for fatbin in fatbins]) for name in _OF_CONTAINER},
        "held": column([len(fatbin.entries) for fatbin in fatbins]),
        "entries": _write_entries([entry for fatbin in fatbins for entry in fatbin.entries]),
    }


def _read_fatbins(content: Json, place: MemberPath) -> Iterator[FatbinFacts]:
    count = int(content["count"])
    entries = _read_entries(content["entries"])
    around = decoded(content["around"], count, lambda parts: (*place.parts, *parts))
    sections = decoded(content["section"], count, str)
    numbers = {name: plain(content[name], count) for name in (*_OF_CONTAINER, "held")}
    return map(
        FatbinFacts,
        (MemberPath((*parts, name)) for parts, name in zip(around, plain(content["names"], count), strict=True)),
        sections,
        numbers["index"],
        numbers["offset"],
        numbers["size"],
        numbers["version"],
        (tuple(islice(entries, held)) for held in numbers["held"]),
        numbers["relocatable"],
        numbers["wrapper"],
    )


def _write_entries(entries: Sequence[EntryFacts]) -> Json:
    nested = [inner for entry in entries for inner in entry.nested]
    return {
        "count": len(entries),
        **{name: column([getattr(entry, name) for entry in entries]) for name in _NUMBERS},
        "kind": column([int(entry.kind) for entry in entries]),
        "arch": coded([entry.arch for entry in entries], lambda arch: str(arch) if arch is not None else None),
        "codec": coded([entry.codec for entry in entries], lambda codec: codec.value),
        "code": coded([entry.code_version for entry in entries], list),
        "ptx": coded([entry.ptx for entry in entries], lambda ptx: ptx.text if ptx is not None else None),
        "identifier": coded([entry.identifier for entry in entries], _same),
        "cubin": coded([entry.cubin for entry in entries], _write_cubin),
        "error": coded([entry.payload_error for entry in entries], _same),
        "text": coded([entry.text for entry in entries], _write_text),
        "holds": column([len(entry.nested) for entry in entries]),
        "nested": _write_entries(nested) if nested else None,
    }


def _read_entries(content: Json) -> Iterator[EntryFacts]:
    count = int(content["count"])
    numbers = {name: plain(content[name], count) for name in _NUMBERS}
    inner = _read_entries(content["nested"]) if content["nested"] else iter(())
    return map(
        EntryFacts,
        numbers["index"],
        map(_kind, plain(content["kind"], count)),
        decoded(content["arch"], count, _read_arch),
        decoded(content["codec"], count, Codec),
        numbers["flags"],
        decoded(content["code"], count, lambda code: (int(code[0]), int(code[1]))),
        decoded(content["ptx"], count, lambda text: PtxVersion(text) if text is not None else None),
        numbers["offset"],
        numbers["header_size"],
        numbers["payload_size"],
        numbers["compressed_size"],
        numbers["uncompressed_size"],
        decoded(content["identifier"], count, str),
        (tuple(islice(inner, holds)) for holds in plain(content["holds"], count)),
        decoded(content["cubin"], count, _read_cubin),
        decoded(content["error"], count, _same),
        decoded(content["text"], count, _read_text),
    )


_KINDS = {int(kind): kind for kind in EntryKind}


def _kind(number: int) -> EntryKind | int:
    return _KINDS.get(number, number)


def _read_arch(text: str | None) -> TargetArch | None:
    return TargetArch.parse(text) if text is not None else None


def _write_text(text: PtxContent | None) -> Json:
    return None if text is None else [text.kernels, text.shared, text.largest, list(text.instructions)]


def _read_text(content: Json) -> PtxContent | None:
    if content is None:
        return None
    kernels, shared, largest, instructions = content
    return PtxContent(int(kernels), int(shared), str(largest), tuple(map(str, instructions)))


def _write_cubin(cubin: CubinFacts | None) -> Json:
    if cubin is None:
        return None
    values = {name: getattr(cubin, name) for name in CubinFacts.__slots__}
    return {**values, "arch": str(cubin.arch) if cubin.arch is not None else None}


def _read_cubin(content: Json) -> CubinFacts | None:
    return CubinFacts(**{**content, "arch": _read_arch(content["arch"])}) if content is not None else None
