"""NVIDIA's own tools out of their wheels, for tests: ptxas, fatbinary, libnvfatbin, nvcc, cuobjdump.

Everything is fetched once into ``$CUBINGATE_TEST_CACHE`` (default ``~/.cache/cubingate-tests``), and what ptxas made is
kept there too. Tests that use this module carry the ``network`` marker: their first run needs the package registry.

    cubin = ptxas("12.8", "sm_90a", kernel_ptx("scale", "8.7", "sm_90a"))
    fatbin = nvfatbin("12.8", [Image("cubin", "90a", cubin)], mode="size")
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Toolkit:
    """One CUDA release: the PTX ISA it writes and the wheels with its tools (``None``: it has no such wheel)."""

    ptx: str
    nvcc: str
    nvfatbin: str | None


TOOLKITS = {
    "11.8": Toolkit("7.8", "nvidia-cuda-nvcc-cu11==11.8.89", None),
    "12.0": Toolkit("8.0", "nvidia-cuda-nvcc-cu12==12.0.140", None),
    "12.1": Toolkit("8.1", "nvidia-cuda-nvcc-cu12==12.1.105", None),
    "12.2": Toolkit("8.2", "nvidia-cuda-nvcc-cu12==12.2.140", None),
    "12.3": Toolkit("8.3", "nvidia-cuda-nvcc-cu12==12.3.107", None),
    "12.4": Toolkit("8.4", "nvidia-cuda-nvcc-cu12==12.4.131", "nvidia-nvfatbin-cu12==12.4.127"),
    "12.5": Toolkit("8.5", "nvidia-cuda-nvcc-cu12==12.5.82", "nvidia-nvfatbin-cu12==12.5.82"),
    "12.6": Toolkit("8.5", "nvidia-cuda-nvcc-cu12==12.6.85", "nvidia-nvfatbin-cu12==12.6.77"),
    "12.8": Toolkit("8.7", "nvidia-cuda-nvcc-cu12==12.8.93", "nvidia-nvfatbin-cu12==12.8.90"),
    "12.9": Toolkit("8.8", "nvidia-cuda-nvcc-cu12==12.9.86", "nvidia-nvfatbin-cu12==12.9.82"),
    "13.0": Toolkit("9.0", "nvidia-cuda-nvcc==13.0.88", "nvidia-nvfatbin==13.0.85"),
    "13.1": Toolkit("9.1", "nvidia-cuda-nvcc==13.1.115", "nvidia-nvfatbin==13.1.115"),
    "13.2": Toolkit("9.2", "nvidia-cuda-nvcc==13.2.86", "nvidia-nvfatbin==13.2.86"),
    "13.3": Toolkit("9.3", "nvidia-cuda-nvcc==13.3.73", "nvidia-nvfatbin==13.3.29"),
    "13.4": Toolkit("9.4", "nvidia-cuda-nvcc==13.4.92", "nvidia-nvfatbin==13.4.92"),
    "13.5": Toolkit("9.5", "nvidia-cuda-nvcc==13.5.37", "nvidia-nvfatbin==13.5.37"),
}
CUOBJDUMP = "nvidia-cuda-cuobjdump==13.5.37"


class ToolFailed(Exception):
    """A tool refused; the message is its own."""


@dataclass(frozen=True, slots=True)
class Image:
    """One image to pack: ``kind`` is ``cubin`` or ``ptx``, ``arch`` the bare name (``90a``)."""

    kind: str
    arch: str
    content: bytes


def cache() -> Path:
    """The folder where everything is kept."""
    chosen = os.environ.get("CUBINGATE_TEST_CACHE")
    folder = Path(chosen) if chosen else Path.home() / ".cache" / "cubingate-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """Run a tool and return its output; ``ToolFailed`` with its own words otherwise."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolFailed(f"{command[0]}: {(done.stderr or done.stdout).strip()[:800]}")
    return done.stdout


@functools.cache
def wheel(requirement: str) -> Path:
    """The wheel file of a pinned requirement (``name==version``)."""
    place = cache() / "wheels" / requirement.replace("==", "-")
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
            run([*pip, "--only-binary", ":all:", "--dest", f"{folder}/out", requirement])
            _settle(Path(folder) / "out", place)
    return next(place.glob("*.whl"))


@functools.cache
def unpacked(requirement: str) -> Path:
    """The folder with the unpacked wheel, its tools executable."""
    place = cache() / "unpacked" / requirement.replace("==", "-")
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            with zipfile.ZipFile(wheel(requirement)) as archive:
                archive.extractall(f"{folder}/out")
            for tool in Path(folder).glob("out/**/bin/**/*"):
                tool.chmod(0o755)
            _settle(Path(folder) / "out", place)
    return place


def _settle(done: Path, place: Path) -> None:
    """Move a finished folder to its place, unless another process was faster."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        done.rename(place)
    except OSError:
        if not place.exists():
            raise


def tool(toolkit: str, name: str) -> Path:
    """The path of a tool of that toolkit's nvcc wheel (``ptxas``, ``fatbinary``; ``nvcc`` from 13.0 on)."""
    return next(iter(sorted(unpacked(TOOLKITS[toolkit].nvcc).glob(f"**/bin/{name}"))))


def kernel_ptx(name: str, version: str, target: str, *, lines: int = 40) -> str:
    """One kernel called ``name``; ``lines`` makes it longer, so that it compresses."""
    work = "".join(f" fma.rn.f32 %f2, %f2, %f1, 0f{0x3E000000 + i * 65537:08x};\n" for i in range(lines))
    return (
        f".version {version}\n.target {target}\n.address_size 64\n"
        f".visible .entry {name}(.param .u64 p_out, .param .f32 p_scale)\n{{\n"
        " .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<8>;\n"
        " ld.param.u64 %rd1, [p_out]; ld.param.f32 %f1, [p_scale];\n"
        " mov.u32 %r1, %tid.x; cvta.to.global.u64 %rd2, %rd1; mul.wide.u32 %rd3, %r1, 4;\n"
        f" add.s64 %rd4, %rd2, %rd3; ld.global.f32 %f2, [%rd4];\n{work} st.global.f32 [%rd4], %f2;\n ret;\n}}\n"
    )


def ptxas(toolkit: str, arch: str, ptx: str, *, relocatable: bool = False) -> bytes:
    """Assemble ``ptx`` for ``arch`` (``sm_90a``); ``ToolFailed`` when ptxas refuses."""
    key = hashlib.sha256(f"{toolkit}|{arch}|{relocatable}|{ptx}".encode()).hexdigest()
    kept = cache() / "cubins" / key
    if kept.exists():
        return kept.read_bytes()
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        # Constant names: newer ptxas records its command line in the cubin.
        (Path(folder) / "k.ptx").write_text(ptx)
        options = ["-c"] if relocatable else []
        run([tool(toolkit, "ptxas"), "-arch", arch, *options, "k.ptx", "-o", "k.cubin"], Path(folder))
        kept.parent.mkdir(exist_ok=True)
        (Path(folder) / "k.cubin").rename(kept)
    return kept.read_bytes()


def cubin(toolkit: str, name: str, arch: str) -> bytes:
    """The cubin of ``kernel_ptx(name)`` for the bare ``arch`` (``90a``)."""
    return ptxas(toolkit, f"sm_{arch}", kernel_ptx(name, TOOLKITS[toolkit].ptx, f"sm_{arch}"))


def cubin_image(toolkit: str, name: str, arch: str) -> Image:
    """``cubin`` as an image to pack."""
    return Image("cubin", arch, cubin(toolkit, name, arch))


def ptx_image(toolkit: str, name: str, arch: str) -> Image:
    """``kernel_ptx`` in the toolkit's own ISA version as an image to pack."""
    return Image("ptx", arch, kernel_ptx(name, TOOLKITS[toolkit].ptx, f"sm_{arch}").encode())


@functools.cache
def _nvfatbin_library(toolkit: str) -> ctypes.CDLL:
    requirement = TOOLKITS[toolkit].nvfatbin
    if requirement is None:
        raise ToolFailed(f"toolkit {toolkit} has no libnvfatbin wheel")
    library = ctypes.CDLL(str(next(unpacked(requirement).glob("**/libnvfatbin.so*"))))
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.nvFatbinCreate.argtypes = [ctypes.POINTER(pointer), ctypes.POINTER(text), size]
    library.nvFatbinAddCubin.argtypes = [pointer, text, size, text, text]
    library.nvFatbinAddPTX.argtypes = [pointer, text, size, text, text, text]
    library.nvFatbinSize.argtypes = [pointer, ctypes.POINTER(size)]
    library.nvFatbinGet.argtypes = [pointer, text]
    library.nvFatbinDestroy.argtypes = [ctypes.POINTER(pointer)]
    return library


def nvfatbin(toolkit: str, images: Sequence[Image], *, mode: str | None = None, everything: bool = False) -> bytes:
    """Pack with that toolkit's libnvfatbin.

    ``mode`` is ``--compress-mode`` (``none``, ``speed``, ``balance``, ``size``; from 12.6 on), ``None`` the library's
    default; ``everything`` adds ``-compress-all``.
    """
    options = ["-compress-all"] if everything else []
    options += [f"-compress-mode={mode}"] if mode not in {None, "none"} else []
    options += ["-compress=false"] if mode == "none" else []
    library, handle = _nvfatbin_library(toolkit), ctypes.c_void_p()
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    _accepted(library.nvFatbinCreate(ctypes.byref(handle), given, len(options)), toolkit)
    try:
        for image in images:
            _add(library, handle, image, toolkit)
        size = ctypes.c_size_t()
        _accepted(library.nvFatbinSize(handle, ctypes.byref(size)), toolkit)
        buffer = ctypes.create_string_buffer(size.value)
        _accepted(library.nvFatbinGet(handle, buffer), toolkit)
    finally:
        library.nvFatbinDestroy(ctypes.byref(handle))
    return buffer.raw


def _add(library: ctypes.CDLL, handle: ctypes.c_void_p, image: Image, toolkit: str) -> None:
    arch = image.arch.encode()
    if image.kind == "cubin":
        _accepted(library.nvFatbinAddCubin(handle, image.content, len(image.content), arch, b""), toolkit)
    else:
        text = image.content + b"\0"
        _accepted(library.nvFatbinAddPTX(handle, text, len(text), arch, b"", b""), toolkit)


def _accepted(status: int, toolkit: str) -> None:
    if status:
        raise ToolFailed(f"libnvfatbin {toolkit} answered {status}")


def fatbinary(toolkit: str, images: Sequence[Image], *, mode: str = "default", concat: bool = False) -> bytes:
    """Pack with that toolkit's ``fatbinary``; ``concat`` asks for entries of kind 256 (13.4 and later)."""
    with tempfile.TemporaryDirectory(dir=cache()) as name:
        folder = Path(name)
        command: list[str | Path] = [tool(toolkit, "fatbinary"), "--create=out.fatbin", "-64"]
        command += [f"--compress-mode={mode}"] + (["--concat"] if concat else [])
        for index, image in enumerate(images):
            kind = {"cubin": "elf", "ptx": "ptx"}[image.kind]
            (folder / f"{index}.{kind}").write_bytes(image.content)
            command.append(f"--image3=kind={kind},sm={image.arch},file={index}.{kind}")
        run(command, folder)
        return (folder / "out.fatbin").read_bytes()


def cuobjdump(path: Path, option: str) -> list[str]:
    """The lines of ``cuobjdump OPTION PATH`` (``--list-elf``, ``--list-ptx`` …); none where is no device code."""
    program = next(unpacked(CUOBJDUMP).glob("**/bin/cuobjdump"))
    try:
        return run([program, option, path]).splitlines()
    except ToolFailed as failure:
        if "does not contain device code" in str(failure):
            return []
        raise
