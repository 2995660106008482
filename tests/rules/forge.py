"""Makes small real artifacts for tests: host ELF files by gcc around containers by NVIDIA's libnvfatbin."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.toolchain import TOOLKITS, Image, cubin_image, kernel_ptx, nvfatbin, ptx_image, ptxas

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WRAPPER_MAGIC = 0x466243B1
_PACKERS = {"11": "12.8", "12": "12.8", "13": "13.0"}


def images(toolkit: str, names: str, unit: str = "k") -> list[Image]:
    """Images by short names: ``80 90a ptx:75`` are two cubins and one PTX of that toolkit."""
    return [
        ptx_image(toolkit, unit, name.removeprefix("ptx:"))
        if name.startswith("ptx:")
        else cubin_image(toolkit, unit, name)
        for name in names.split()
    ]


def container(toolkit: str, names: str, codec: str = "none", unit: str = "k") -> bytes:
    """A fatbin of those images, packed by libnvfatbin of the same major: ``none``, ``lz4`` or ``zstd``."""
    return pack(images(toolkit, names, unit), _PACKERS[toolkit.partition(".")[0]], codec)


def pack(content: Sequence[Image], packer: str, codec: str = "none") -> bytes:
    mode = {"none": "none", "lz4": "speed", "zstd": "size"}[codec]
    return nvfatbin(packer, content, mode=mode, everything=codec == "lz4")


def link_stub(toolkit: str, *archs: str, codec: str = "none") -> bytes:
    """The kernel-less ELFs that nvcc's device link leaves in a program, one for each architecture of its list."""
    empty = f".version {TOOLKITS[toolkit].ptx}\n.target sm_%s\n.address_size 64\n"
    content = [Image("cubin", arch, ptxas(toolkit, f"sm_{arch}", empty % arch)) for arch in archs]
    return pack(content, _PACKERS[toolkit.partition(".")[0]], codec)


def long_kernel(toolkit: str, arch: str) -> Image:
    """A cubin of more than 4 KiB, which is not unpacked unless the run is deep."""
    text = kernel_ptx("long", TOOLKITS[toolkit].ptx, f"sm_{arch}", lines=400)
    return Image("cubin", arch, ptxas(toolkit, f"sm_{arch}", text))


@dataclass(slots=True)
class Elf:
    """A host ELF file to be: ``undefined`` maps a library to symbols, ``NAME@VERSION`` where they are versioned.

    ``isa`` is the x86-64 level for its property note; ``padding`` and ``code`` add so many bytes of data and code.
    """

    name: str
    containers: list[bytes] = field(default_factory=list)
    relocatable: list[bytes] = field(default_factory=list)
    needed: list[str] = field(default_factory=lambda: ["libc.so.6"])
    undefined: dict[str, list[str]] = field(default_factory=dict)
    weak: dict[str, list[str]] = field(default_factory=dict)
    exports: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    soname: str = ""
    runpath: str = ""
    rpath: str = ""
    program: bool = False
    isa: str = ""
    padding: int = 0
    code: int = 0


def build(elf: Elf, folder: Path) -> Path:
    """Write the file into ``folder`` (made if missing) and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / f".{elf.name}.work"
    work.mkdir()
    asm = [*_device(elf, work), *_symbols(elf)]
    (work / "unit.s").write_text("\n".join(asm) + "\n")
    libraries = [str(_stub(work, name, elf)) for name in elf.needed]
    flags = ["-pie"] if elf.program else ["-shared", f"-Wl,-soname,{elf.soname or elf.name}"]
    flags += [f"-Wl,-rpath,{elf.runpath},--enable-new-dtags"] if elf.runpath else []
    flags += [f"-Wl,-rpath,{elf.rpath},--disable-new-dtags"] if elf.rpath else []
    flags += [f"-Wl,-z,{elf.isa}"] if elf.isa else []
    out = folder / elf.name
    command = ["gcc", *flags, "-nostdlib", "-Wl,--build-id=none,--no-as-needed,--allow-shlib-undefined", "-s"]
    subprocess.run(
        [*command, "unit.s", *libraries, "-o", str(out.resolve())], cwd=work, check=True, capture_output=True
    )
    for rest in work.iterdir():
        rest.unlink()
    work.rmdir()
    return out


def _device(elf: Elf, work: Path) -> list[str]:
    asm, wrappers = [], []
    sections = [(".nv_fatbin", content) for content in elf.containers]
    sections += [("__nv_relfatbin", content) for content in elf.relocatable]
    for index, (section, content) in enumerate(sections):
        (work / f"{index}.fatbin").write_bytes(content)
        asm += [f'.section {section},"a",@progbits', ".balign 8", f"fatbin{index}:", f'.incbin "{index}.fatbin"']
        wrappers += [f".long {WRAPPER_MAGIC:#x}, 1", f".quad fatbin{index}", ".quad 0"]
    return [*asm, '.section .nvFatBinSegment,"aw",@progbits', ".balign 8", *wrappers] if wrappers else []


def _symbols(elf: Elf) -> list[str]:
    asm = ['.section .data.rel,"aw",@progbits', ".balign 8"]
    for table, weak in ((elf.undefined, False), (elf.weak, True)):
        for name in sorted({symbol.partition("@")[0] for group in table.values() for symbol in group}):
            asm += ([f".weak {name}"] if weak else []) + [f".quad {name}"]
    asm += ['.section .rodata,"a",@progbits', *(f'.asciz "{text}"' for text in elf.strings)] if elf.strings else []
    asm += ['.section .data.rel,"aw",@progbits', f".fill {elf.padding}", ".text", f".fill {elf.code}"]
    for name in [*elf.exports, *(["_start"] if elf.program else [])]:
        asm += [f".globl {name}", f".type {name},@function", f"{name}: ret", f".size {name}, .-{name}"]
    return [*asm, '.section .note.GNU-stack,"",@progbits']


def _stub(work: Path, library: str, elf: Elf) -> Path:
    """A stand-in to link against; never part of an artifact."""
    wanted = [*elf.undefined.get(library, []), *elf.weak.get(library, [])]
    names = sorted({symbol.partition("@")[0] for symbol in wanted})
    asm = "".join(f".globl {name}\n.type {name},@function\n{name}: ret\n" for name in names)
    (work / "stub.s").write_text(f'.text\n{asm}.section .note.GNU-stack,"",@progbits\n')
    versions: dict[str, list[str]] = {}
    for symbol in wanted:
        name, at, version = symbol.partition("@")
        if at:
            versions.setdefault(version, []).append(name)
    script = "".join(f"{version} {{ global: {'; '.join(group)}; }};\n" for version, group in sorted(versions.items()))
    (work / "stub.map").write_text(script or "{ global: *; };\n")
    out = work / f"{library}.stub"
    flags = ["-shared", "-nostdlib", f"-Wl,-soname,{library}", "-Wl,--version-script,stub.map"]
    subprocess.run(["gcc", *flags, "stub.s", "-o", str(out.resolve())], cwd=work, check=True, capture_output=True)
    return out.resolve()
