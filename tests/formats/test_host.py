from __future__ import annotations

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.elf import read_elf
from pipeline.formats.facts import ElfFacts, SymbolNeed
from pipeline.formats.host import read_host
from pipeline.model.paths import MemberPath
from tests.formats.artifacts import Library, link


def host(library: Library, budgets: Budgets = STANDARD) -> ElfFacts:
    image = read_elf(BufferView(link(library)), budgets)
    return read_host(image, MemberPath(("file",)), has_device_code=False, budgets=budgets)


def test_names_and_paths() -> None:
    library = Library(soname="libx.so.2", needed=("libc.so.6", "libm.so.6"), runpath="$ORIGIN:/opt/x")
    facts = host(library)
    assert (facts.machine, facts.elf_type, facts.soname) == ("x86_64", "shared", "libx.so.2")
    assert facts.needed == ("libc.so.6", "libm.so.6")
    assert (facts.runpath, facts.rpath, facts.interpreter) == (("$ORIGIN", "/opt/x"), (), None)
    assert facts.exports_count == 1


def test_the_older_search_path_is_told_from_the_newer() -> None:
    facts = host(Library(rpath="/old"))
    assert (facts.rpath, facts.runpath) == (("/old",), ())


def test_versions_and_weakness_of_imports() -> None:
    facts = host(Library(undefined=("memcpy@GLIBC_2.14", "malloc@GLIBC_2.2.5"), weak=("getrandom@GLIBC_2.25",)))
    assert {need: set(versions) for need, versions in facts.version_needs.items()} == {
        "libc.so.6": {"GLIBC_2.14", "GLIBC_2.2.5", "GLIBC_2.25"}
    }
    assert set(facts.imports) >= {
        SymbolNeed("memcpy", "GLIBC_2.14", "libc.so.6", weak=False),
        SymbolNeed("getrandom", "GLIBC_2.25", "libc.so.6", weak=True),
    }


def test_unversioned_driver_symbols() -> None:
    facts = host(Library(needed=("libcuda.so.1",), undefined=("cuInit", "cuMemCreate")))
    assert [need for need in facts.imports if need.name == "cuMemCreate"] == [
        SymbolNeed("cuMemCreate", None, None, weak=False)
    ]


def test_names_in_strings() -> None:
    strings = ("libcuda.so.1", "cuMemCreate", "cuGraphAddNode_v2", "current", "nolib.so", "a/libggml-cuda.so")
    facts = host(Library(strings=strings))
    assert facts.dlopen_names == ("a/libggml-cuda.so", "libcuda.so.1")
    assert facts.dlsym_names == ("cuGraphAddNode_v2", "cuMemCreate")


def test_a_driver_stub_shows_what_it_defines() -> None:
    stub = host(Library(soname="libcuda.so.1", exports=("cuInit", "cuCtxCreate_v2", "current")))
    assert set(stub.driver_exports) == {"cuInit", "cuCtxCreate_v2"}
    assert host(Library(exports=("cuCtxCreate_v2",))).driver_exports == ()


def test_programs_and_objects() -> None:
    program = host(Library(kind="executable"))
    assert (program.elf_type, program.interpreter) == ("shared", "/lib64/ld-linux-x86-64.so.2")
    unlinked = host(Library(kind="object", undefined=("memcpy",)))
    assert (unlinked.elf_type, unlinked.needed, unlinked.imports) == ("object", (), ())


def test_symbols_are_read_without_a_section_table() -> None:
    content = bytearray(link(Library(undefined=("memcpy@GLIBC_2.14",))))
    content[40:48] = bytes(8)  # e_shoff
    content[60:62] = bytes(2)  # e_shnum
    image = read_elf(BufferView(bytes(content)), STANDARD)
    facts = read_host(image, MemberPath(("file",)), has_device_code=False, budgets=STANDARD)
    assert facts.soname == "libfixture.so.1"
    assert [need.name for need in facts.imports] == ["memcpy"]


def test_limits() -> None:
    with pytest.raises(FormatError, match="dynamic symbols"):
        host(Library(), Budgets(symbols=1))
    with pytest.raises(FormatError, match="symbol versions"):
        host(Library(undefined=("memcpy@GLIBC_2.14", "malloc@GLIBC_2.2.5")), Budgets(version_needs=1))
    with pytest.raises(FormatError, match="sections"):
        host(Library(), Budgets(sections=3))
