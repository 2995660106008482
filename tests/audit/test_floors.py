"""Floors and verdicts over hand-made units: PTX, cubins and codecs each have their own."""

from __future__ import annotations

import pytest

from pipeline.audit.floors import minimum_driver
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.image import Codec, EntryKind
from pipeline.model.paths import MemberPath
from pipeline.model.versions import DriverVersion, PtxVersion
from pipeline.policy import Policy, load_policy
from pipeline.rules.choice import SUCCESS, JitPass, Via
from pipeline.rules.selection import select
from pipeline.rules.unit import Image, Unit


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def cubin(arch: str, major: int = 12, codec: Codec = Codec.NONE) -> Image:
    abi = 8 if major >= 13 or int(arch.rstrip("af")) >= 100 else 7
    return Image(EntryKind.CUBIN, TargetArch.of(arch, ArchKind.REAL), codec, abi=abi, majors=(major,))


def ptx(arch: str, version: str, codec: Codec = Codec.NONE) -> Image:
    return Image(EntryKind.PTX, TargetArch.of(arch, ArchKind.VIRTUAL), codec, ptx=PtxVersion(version))


def unit(*images: Image) -> Unit:
    place = MemberPath(("libk.so",))
    return Unit(place, place, images)


@pytest.mark.parametrize(
    ("sm", "images", "driver", "reason"),
    [
        (80, (cubin("80"),), "525.60.13", "toolkit-major"),
        (80, (cubin("80", 11),), "450.80.02", "toolkit-major"),
        (80, (cubin("80", codec=Codec.ZSTD),), "550.54.14", "fatbin-codec"),
        (90, (cubin("80"), ptx("80", "8.8")), "575.51.03", "ptx-isa"),
        (120, (cubin("120"),), "570.86.10", "driver-too-old-for-gpu"),
        (90, (cubin("90", 13),), "580.65.06", "toolkit-major"),
        (90, (cubin("80"),), "", "none"),
        (61, (ptx("61", "9.1"),), "", "none"),
        (130, (cubin("120"),), "", "unknown"),
        (75, (ptx("75", "99.0"),), "", "none"),
    ],
)
def test_minimum_driver(policy: Policy, sm: int, images: tuple[Image, ...], driver: str, reason: str) -> None:
    floor = minimum_driver(sm, (unit(*images),), None, policy)
    assert (floor.driver, floor.reason) == (driver, reason)


def test_the_highest_floor_of_several_units(policy: Policy) -> None:
    units = (unit(cubin("80")), unit(cubin("80", codec=Codec.ZSTD)), unit(ptx("75", "8.5")))
    assert minimum_driver(80, units, None, policy).driver == "555.42.02"


@pytest.mark.parametrize(
    ("images", "jit", "result", "via"),
    [
        ((cubin("90"), ptx("80", "9.5")), JitPass.AS_IS, SUCCESS, Via.CUBIN),
        ((cubin("90"), ptx("80", "9.5")), JitPass.FORCED, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", Via.JIT),
        ((ptx("90", "9.5"), ptx("80", "9.0")), JitPass.AS_IS, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", Via.JIT),
        ((ptx("90", "9.0"), ptx("80", "9.5")), JitPass.AS_IS, SUCCESS, Via.JIT),
        ((ptx("80", "9.0"),), JitPass.FORBIDDEN, "CUDA_ERROR_JIT_COMPILATION_DISABLED", Via.JIT),
        ((cubin("80"), cubin("89")), JitPass.AS_IS, "CUDA_ERROR_NO_BINARY_FOR_GPU", Via.NOTHING),
        ((Image(EntryKind.LTO_IR, None, Codec.NONE), ptx("75", "8.0")), JitPass.AS_IS, SUCCESS, Via.JIT),
    ],
)
def test_choice(policy: Policy, images: tuple[Image, ...], jit: JitPass, result: str, via: Via) -> None:
    chosen = select(unit(*images), policy.gpu(90), DriverVersion("580.159.04"), jit, policy)
    assert (chosen.result, chosen.via) == (result, via)


def test_old_drivers_have_no_word_for_new_ptx(policy: Policy) -> None:
    chosen = select(unit(ptx("70", "7.0")), policy.gpu(75), DriverVersion("418.87.00"), JitPass.AS_IS, policy)
    assert chosen.result == "CUDA_ERROR_INVALID_PTX"


def test_a_major_that_the_header_leaves_open_is_a_doubt(policy: Policy) -> None:
    open_major = Image(EntryKind.CUBIN, TargetArch.of("80", ArchKind.REAL), Codec.LZ4, abi=7, majors=(11, 12))
    gpu = policy.gpu(80)
    for driver, loads, doubtful in (
        ("450.51.05", False, False),
        ("470.82.01", False, True),
        ("525.60.13", True, False),
    ):
        chosen = select(unit(open_major), gpu, DriverVersion(driver), JitPass.AS_IS, policy)
        assert (chosen.loads, chosen.doubtful) == (loads, doubtful)


def test_integrated_gpus_share_no_cubins(policy: Policy) -> None:
    driver = DriverVersion("560.35.03")
    for image, sm in (("80", 87), ("87", 89), ("87", 86)):
        chosen = select(unit(cubin(image)), policy.gpu(sm), driver, JitPass.AS_IS, policy)
        assert chosen.obstacles[0].rule == "arch-missing"
    assert select(unit(cubin("87")), policy.gpu(87), driver, JitPass.AS_IS, policy).loads
