"""Bundles by gcc, each with one trait of the dynamic linker's search in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.rules.forge import Elf, build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

C = "libc.so.6"


def program(*needed: str, **paths: str) -> Elf:
    return Elf("server", needed=[*needed, C], program=True, **paths)  # type: ignore[arg-type]


def library(name: str, *needed: str, **paths: str) -> Elf:
    return Elf(name, needed=[*needed, C], **paths)  # type: ignore[arg-type]


def origin(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so", runpath="$ORIGIN"), root / "lib")
    build(library("libb.so"), root / "lib")


def rpath_is_inherited(root: Path) -> None:
    build(program("liba.so", rpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so"), root / "lib")
    build(library("libb.so"), root / "lib")


def runpath_is_not_inherited(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so"), root / "lib")
    build(library("libb.so"), root / "lib")


def runpath_hides_the_inherited_rpath(root: Path) -> None:
    build(program("liba.so", rpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so", runpath="/nowhere"), root / "lib")
    build(library("libb.so"), root / "lib")


def loaded_before(root: Path) -> None:
    build(program("libb.so", "liba.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so"), root / "lib")
    build(library("libb.so"), root / "lib")


def loaded_in_breadth(root: Path) -> None:
    """The program's own needs come before those of its first library."""
    build(program("liba.so", "libb.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so"), root / "lib")
    build(library("libb.so"), root / "lib")


def loaded_too_late(root: Path) -> None:
    build(program("liba.so", "libz1.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libdeep.so"), root / "lib")
    build(library("libz1.so", "libdeep.so", runpath="$ORIGIN/deep"), root / "lib")
    build(library("libdeep.so"), root / "lib" / "deep")


def soname_links(root: Path) -> None:
    build(program("libcudart.so.12", runpath="$ORIGIN/../lib"), root / "bin")
    build(Elf("libcudart.so.12.8.90", soname="libcudart.so.12"), root / "lib")
    (root / "lib" / "libcudart.so.12").symlink_to("libcudart.so.12.8.90")
    (root / "lib" / "libcudart.so").symlink_to("libcudart.so.12")


def origin_is_where_the_link_lies(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so", "libb.so", runpath="$ORIGIN"), root / "store")
    (root / "lib").mkdir()
    (root / "lib" / "liba.so").symlink_to("../store/liba.so")
    build(library("libb.so"), root / "lib")


def linked_folder(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/../current/lib"), root / "bin")
    build(library("liba.so"), root / "v1" / "lib")
    (root / "current").symlink_to("v1")


def lib_word(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/../$LIB"), root / "bin")
    build(library("liba.so"), root / "lib" / "x86_64-linux-gnu")


def platform_word(root: Path) -> None:
    build(program("liba.so", runpath="${ORIGIN}/../lib/${PLATFORM}"), root / "bin")
    build(library("liba.so"), root / "lib" / "x86_64")


def soname_of_another_file(root: Path) -> None:
    """A library needed by file name, then by the SONAME that it turns out to have."""
    build(program("liba.so", "libreal.so", runpath="$ORIGIN"), root / "bin")
    build(Elf("liba.so", soname="libreal.so.1"), root / "bin")
    build(Elf("libreal.so", soname="libreal.so", needed=["libreal.so.1", C]), root / "bin")


def other_machine_first(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/arm:$ORIGIN/lib"), root)
    arm = build(library("liba.so"), root / "arm")
    content = bytearray(arm.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")
    arm.write_bytes(content)
    build(library("liba.so"), root / "lib")


def relative_path(root: Path) -> None:
    build(program("liba.so", runpath="lib:bin"), root / "bin")
    build(library("liba.so"), root / "lib")


def absolute_path(root: Path) -> None:
    build(program("liba.so", runpath="/usr/local/cuda/lib64:/opt/lib"), root / "bin")
    build(library("liba.so"), root / "opt" / "lib")


def wrong_major(root: Path) -> None:
    build(program("libggml-cuda.so", runpath="$ORIGIN"), root)
    build(library("libggml-cuda.so", "libcublas.so.12", "libcudart.so.12", runpath="$ORIGIN"), root)
    build(library("libcublas.so.13"), root)
    build(library("libcudart.so.12"), root)


def plugins_without_a_program(root: Path) -> None:
    build(library("libk.so", "libcudart.so.12", "libnccl.so.2", runpath="$ORIGIN"), root / "lib")
    build(library("libcudart.so.12"), root / "lib")


def hwcaps_are_for_others(root: Path) -> None:
    build(program("liba.so", runpath="$ORIGIN/../lib"), root / "bin")
    build(library("liba.so"), root / "lib")
    build(library("liba.so"), root / "lib" / "glibc-hwcaps" / "x86-64-v4")


BUNDLES: tuple[Callable[[Path], None], ...] = (
    origin,
    rpath_is_inherited,
    runpath_is_not_inherited,
    runpath_hides_the_inherited_rpath,
    loaded_before,
    loaded_in_breadth,
    loaded_too_late,
    soname_links,
    origin_is_where_the_link_lies,
    linked_folder,
    lib_word,
    platform_word,
    soname_of_another_file,
    other_machine_first,
    relative_path,
    absolute_path,
    wrong_major,
    plugins_without_a_program,
    hwcaps_are_for_others,
)
WHEELS = ("numpy==2.3.2", "sentencepiece==0.2.1", "tokenizers==0.22.0", "lightgbm==4.6.0", "scikit-learn==1.7.1")
