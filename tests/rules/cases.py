"""One violating artifact and its healthy twin for every rule, made by real tools."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.cpu import CpuLevel
from pipeline.model.lane import Flavour, Platform
from pipeline.model.versions import GlibcVersion, GlibcxxVersion, ToolkitVersion
from pipeline.rules.declaration import Declaration, HostFloor
from tests.environments.places import Package, environment
from tests.rehearse.assemblers import ptx
from tests.rules.forge import Elf, build, container, images, pack
from tests.rules.saved import save_image
from tests.toolchain import TOOLKITS, Image, fatbinary, ptxas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Asked:
    """What is audited and what it is held against."""

    make: Callable[[Path], Path]
    target: str
    host: HostFloor | None = None
    declaration: Declaration | None = None
    kernels: bool = False
    rehearse: bool = False


@dataclass(frozen=True, slots=True)
class Twins:
    """``alone`` says that the rule is the only cause, so that the verdict hangs on it."""

    rule: str
    violating: Asked
    healthy: Asked
    alone: bool = True
    also: tuple[str, ...] = field(default=())


def library(toolkit: str = "12.8", names: str = "80", codec: str = "none", **elf: object) -> Callable[[Path], Path]:
    """A single shared library with one container."""

    def make(folder: Path) -> Path:
        return build(Elf("libk.so", [container(toolkit, names, codec)], **elf), folder)  # type: ignore[arg-type]

    return make


def bare_ptx(body: str, before: str = "") -> Callable[[Path], Path]:
    """A PTX file with one kernel."""

    def make(folder: Path) -> Path:
        path = folder / "k.ptx"
        path.write_text(ptx(body, before=before))
        return path

    return make


def bundle(*elves: Callable[[], Elf]) -> Callable[[Path], Path]:
    """A folder with files in ``lib``."""

    def make(folder: Path) -> Path:
        for elf in elves:
            build(elf(), folder / "bundle" / "lib")
        return folder / "bundle"

    return make


def beside(content: bytes) -> Callable[[Path], Path]:
    """A library, and a file with this content."""

    def make(folder: Path) -> Path:
        build(kernels()(), folder / "bundle")
        (folder / "bundle" / "more").write_bytes(content)
        return folder / "bundle"

    return make


def kernels(**elf: object) -> Callable[[], Elf]:
    return lambda: Elf("libk.so", [container("12.8", "80")], **elf)  # type: ignore[arg-type]


def cut(folder: Path) -> Path:
    path = library()(folder)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def concatenated(folder: Path) -> Path:
    file = folder / "k.fatbin"
    file.write_bytes(fatbinary("13.5", images("13.5", "80 90"), concat=True))
    return file


def separate(folder: Path) -> Path:
    file = folder / "k.fatbin"
    file.write_bytes(container("13.5", "80 90"))
    return file


def entry(name: str, bounds: str = "", shared: int = 0, registers: int = 4) -> str:
    """A kernel that keeps ``registers`` values alive and uses ``shared`` bytes."""
    values = "".join(f" ld.volatile.global.f32 %f{i}, [%rd2+{4 * i}];\n" for i in range(registers))
    values += "".join(f" st.volatile.global.f32 [%rd2+{4 * i}], %f{i};\n" for i in range(registers))
    memory = f" .shared .align 16 .b8 buf[{shared}]; .reg .b32 %r<2>;\n mov.u32 %r1, buf; st.shared.u32 [%r1], %r1;\n"
    return (
        f".visible .entry {name}(.param .u64 p) {bounds}\n{{\n"
        f" .reg .f32 %f<{registers}>; .reg .b64 %rd<3>;\n{memory if shared else ''}"
        f" ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;\n{values} ret;\n}}\n"
    )


def image(arch: str, *entries: str, kind: str = "cubin", toolkit: str = "12.8") -> Image:
    """Those kernels, assembled or as PTX."""
    text = f".version {TOOLKITS[toolkit].ptx}\n.target sm_{arch}\n.address_size 64\n" + "".join(entries)
    return Image(kind, arch, ptxas(toolkit, f"sm_{arch}", text) if kind == "cubin" else text.encode())


def packed(*content: Image, names: tuple[str, ...] = ()) -> Callable[[Path], Path]:
    """A shared library with these images in one container; its host code registers the kernels called ``names``."""

    def make(folder: Path) -> Path:
        return build(Elf("libk.so", [pack(content, "12.8", "lz4")], strings=list(names)), folder)

    return make


FIRST, SECOND = entry("first"), entry("second")
HEAVY, ASKED = ".reqntid 1024, 1, 1\n.maxnreg 200", ".reqntid 1024, 1, 1"


def compat_image(folder: Path) -> Path:
    root = folder / "rootfs"
    compat = root / "usr/local/cuda-13.0/compat"
    build(Elf("libcuda.so.580.65.06", soname="libcuda.so.1", exports=["cuInit"]), compat)
    (compat / "libcuda.so.1").symlink_to("libcuda.so.580.65.06")
    (root / "etc/ld.so.conf.d").mkdir(parents=True)
    (root / "etc/ld.so.conf.d/00-compat.conf").write_text("/usr/local/cuda-13.0/compat\n")
    build(Elf("libk.so", [container("13.0", "90")], needed=["libcuda.so.1", "libc.so.6"]), root / "app")
    return root


def for_aarch64(folder: Path) -> Path:
    """The same library with the machine of another platform in its header (e_machine 183, two bytes at 18)."""
    path = library()(folder)
    content = bytearray(path.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")
    path.write_bytes(content)
    return path


def requiring(requirement: str) -> Callable[[Path], Path]:
    """A saved image whose code runs from 525.60.13 on."""

    def make(folder: Path) -> Path:
        build(Elf("libk.so", [container("12.8", "80")]), folder / "layer" / "app")
        return save_image([folder / "layer"], folder / "image.tar", {"NVIDIA_REQUIRE_CUDA": requirement})

    return make


def declared(*archs: str, toolkit: str = "12.8") -> Declaration:
    return Declaration(
        lane="cuda",
        flavour=Flavour.CUDA,
        archs=tuple(TargetArch.of(arch, ArchKind.REAL) for arch in archs),
        toolkit=ToolkitVersion(toolkit),
        driver_floor=None,
        targets=(),
        host=HostFloor(),
        platform=Platform.X86_64,
    )


BUDGET = replace(declared("80"), size_budget=8 << 10)
LEVELS = HostFloor(cpu=CpuLevel.V2), HostFloor(cpu=CpuLevel.V3)
OLD_HOST = HostFloor(glibc=GlibcVersion("2.31"), glibcxx=GlibcxxVersion("3.4.28"))
NEW_HOST = HostFloor(glibc=GlibcVersion("2.39"), glibcxx=GlibcxxVersion("3.4.33"))
STRTOL = library(undefined={"libc.so.6": ["__isoc23_strtol@GLIBC_2.38"]})
THROW = library(needed=["libstdc++.so.6"], undefined={"libstdc++.so.6": ["_ZSt4cout@GLIBCXX_3.4.32"]})
CONTEXT = {"libcuda.so.1": ["cuInit", "cuCtxCreate_v4"]}
STUB = [lambda: Elf("libcuda.so.1", exports=["cuInit"]), kernels(needed=["libcuda.so.1"], runpath="$ORIGIN")]


def with_torch(*others: Package) -> Callable[[Path], Path]:
    """An environment with a torch of CUDA 13 that has its runtime, and these beside it."""

    def make(folder: Path) -> Path:
        cuda = Elf(
            "libc10_cuda.so", [container("13.0", "80")], needed=["libcudart.so.13"], runpath="$ORIGIN/../../nvidia/cu13"
        )
        runtime = Elf("libcudart.so.13")
        packages = (
            Package("torch", "2.9.0+cu130", [cuda], "torch/lib"),
            Package("nvidia-cuda-runtime", "13.0.96", [runtime], "nvidia/cu13"),
        )
        return environment(folder, (*packages, *others))

    return make


TWINS: tuple[Twins, ...] = (
    Twins("corrupt-input", Asked(cut, "80@570"), Asked(library(), "80@570"), alone=False),
    Twins("outside-policy", Asked(library(), "80@9999"), Asked(library(), "80@570")),
    Twins("driver-retired", Asked(library(names="61"), "61@590"), Asked(library(names="61"), "61@580")),
    Twins(
        "driver-too-old-for-gpu", Asked(library("11.8", "89"), "89@515"), Asked(library("11.8", "89"), "89@520.61.05")
    ),
    Twins("cpu-flavour", Asked(bundle(lambda: Elf("libk.so")), "80@570"), Asked(bundle(kernels()), "80@570")),
    Twins(
        "platform-mismatch",
        Asked(for_aarch64, "80@570", declaration=declared("80")),
        Asked(library(), "80@570", declaration=declared("80")),
    ),
    Twins("compat-shim", Asked(compat_image, "90@595"), Asked(compat_image, "90@580")),
    Twins(
        "driver-library-shipped",
        Asked(bundle(*STUB), "80@570"),
        Asked(bundle(kernels(needed=["libcuda.so.1"], runpath="$ORIGIN")), "80@570"),
    ),
    Twins("require-cuda", Asked(requiring("cuda>=12.8"), "80@535"), Asked(requiring("cuda>=12.0"), "80@535")),
    Twins(
        "libcuda-symbol",
        Asked(library(needed=["libcuda.so.1"], undefined=CONTEXT), "80@535"),
        Asked(library(needed=["libcuda.so.1"], weak=CONTEXT), "80@535"),
    ),
    Twins("fatbin-codec", Asked(library(codec="zstd"), "80@535"), Asked(library(codec="lz4"), "80@535")),
    Twins("ptx-isa", Asked(library(names="75 ptx:80"), "90@535"), Asked(library(names="75 ptx:80"), "90@570")),
    Twins("toolkit-major", Asked(library("13.0", "90"), "90@575"), Asked(library("13.0", "90"), "90@580")),
    Twins("cubin-abi", Asked(library("13.0", "90"), "90@550"), Asked(library("12.8", "90"), "90@550"), alone=False),
    Twins("fatbin-kind", Asked(concatenated, "90@580"), Asked(separate, "90@580")),
    Twins("arch-missing", Asked(library(names="80 90"), "75@570"), Asked(library(names="75 80 90"), "75@570")),
    Twins("arch-suffix", Asked(library("12.9", "120a"), "121@580"), Asked(library("12.9", "120a 121a"), "121@580")),
    Twins(
        "kernel-missing",
        Asked(packed(image("80", FIRST, SECOND), image("90", FIRST)), "90@570", kernels=True),
        Asked(packed(image("80", FIRST, SECOND), image("90", FIRST, SECOND)), "90@570", kernels=True),
    ),
    Twins(
        "jit-feature",
        Asked(bare_ptx("tanh.approx.f32 %f1, %f2;"), "61@535", rehearse=True),
        Asked(bare_ptx("ex2.approx.f32 %f1, %f2;"), "61@535", rehearse=True),
    ),
    Twins(
        "static-shared-memory",
        Asked(packed(image("80", entry("big", shared=100 << 10), kind="ptx")), "120@570", kernels=True),
        Asked(packed(image("80", entry("big", shared=48 << 10), kind="ptx")), "120@570", kernels=True),
    ),
    Twins(
        "register-budget",
        Asked(packed(image("80", entry("heavy", HEAVY, registers=240))), "80@570", kernels=True),
        Asked(packed(image("80", entry("heavy", ASKED, registers=240))), "80@570", kernels=True),
    ),
    Twins(
        "rehearsal",
        Asked(bare_ptx("call nothing;", ".extern .func nothing;"), "61@535", rehearse=True),
        Asked(bare_ptx("call nothing;", ".func nothing { ret; }"), "61@535", rehearse=True),
    ),
    Twins(
        "needed-library",
        Asked(bundle(kernels(needed=["libcudart.so.12"], runpath="$ORIGIN")), "80@570"),
        Asked(bundle(lambda: Elf("libcudart.so.12"), kernels(needed=["libcudart.so.12"], runpath="$ORIGIN")), "80@570"),
    ),
    Twins("glibc-floor", Asked(STRTOL, "80@570", OLD_HOST), Asked(STRTOL, "80@570", NEW_HOST)),
    Twins("libstdcxx-floor", Asked(THROW, "80@570", OLD_HOST), Asked(THROW, "80@570", NEW_HOST)),
    Twins(
        "x86-64-level",
        Asked(library(isa="x86-64-v3"), "80@570", LEVELS[0]),
        Asked(library(isa="x86-64-v3"), "80@570", LEVELS[1]),
    ),
    Twins(
        "declared-archs",
        Asked(library(names="80"), "80@570", declaration=declared("80", "90")),
        Asked(library(names="80 90"), "80@570", declaration=declared("80", "90")),
    ),
    Twins(
        "toolkit-mismatch",
        Asked(library("12.9", "80"), "80@570", declaration=declared("80")),
        Asked(library("12.8", "80"), "80@570", declaration=declared("80")),
    ),
    Twins(
        "toolkit-mix",
        Asked(with_torch(Package("nvidia-cuda-nvcc-cu12", "12.6.85")), "80@580"),
        Asked(with_torch(Package("nvidia-cuda-nvcc", "13.0.88")), "80@580"),
    ),
    Twins(
        "distribution-unread",
        Asked(with_torch(Package("product", editable="/src/product")), "80@580"),
        Asked(with_torch(Package("product")), "80@580"),
    ),
    Twins(
        "archive-unread", Asked(beside(b"07070100" + bytes(4096)), "80@570"), Asked(beside(b"text\n" * 800), "80@570")
    ),
    Twins(
        "size-budget",
        Asked(library(padding=16 << 10), "80@570", declaration=BUDGET),
        Asked(library(padding=16 << 10), "80@570", declaration=replace(BUDGET, size_budget=64 << 10)),
    ),
)
