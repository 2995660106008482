"""The tables answer what the rules ask, and refuse to be wrong."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import UsageError
from pipeline.formats.facts import Codec, EntryKind
from pipeline.model.lane import CompressionMode
from pipeline.model.versions import DriverVersion, PtxVersion, ToolkitVersion
from pipeline.policy import Policy, load_policy
from pipeline.policy.rows import CompatStatus
from pipeline.policy.tables import FOLDER, NAMES, read_table
from pipeline.policy.unknown import (
    InconsistentTables,
    UnknownAssembler,
    UnknownCodec,
    UnknownCompression,
    UnknownDriver,
    UnknownGpu,
    UnknownSymbol,
    UnknownToolkit,
)
from tests.toolchain import TOOLKITS

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("80@535.288.01", "535.288.01"),
        ("80@550", "550.54.14"),
        ("61@535", "535.54.03"),
        ("90@580", "580.65.06"),
        ("90@699", "699.0"),
    ],
)
def test_targets(policy: Policy, text: str, driver: str) -> None:
    target = policy.parse_target(text)
    assert target.driver == DriverVersion(driver)
    assert target.sm == int(text.partition("@")[0])


@pytest.mark.parametrize(
    "text", ["", "80", "80@", "@535", "8.0@535", "80a@535", "80@535.x", "80@565", "80@451", "٨٠@535", "80@5e2"]
)
def test_malformed_targets(policy: Policy, text: str) -> None:
    with pytest.raises(UsageError):
        policy.parse_target(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a30@535", "80@535"),
        ("Tesla P40@535", "61@535"),
        ("p40@535", "61@535"),
        ("gtx1080ti@550", "61@550"),
        ("x@535", "SM@DRIVER"),
        ("@535", "SM@DRIVER"),
    ],
)
def test_a_board_in_place_of_its_sm_is_told_the_number(policy: Policy, text: str, said: str) -> None:
    with pytest.raises(UsageError, match="is no SM number") as refused:
        policy.parse_target(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("driver", "ptx", "cuda"),
    [
        ("525.60.13", "8.0", "12.0"),
        ("531.41", "8.1", "12.1"),  # a Windows build of the R530 branch
        ("535.288.01", "8.2", "12.2"),
        ("560.35.03", "8.5", "12.6"),
        ("565.57.01", "8.6", "12.7"),
        ("580.159.04", "9.0", "13.0"),
    ],
)
def test_driver_limits(policy: Policy, driver: str, ptx: str, cuda: str) -> None:
    version = DriverVersion(driver)
    assert policy.max_ptx(version) == PtxVersion(ptx)
    assert policy.cuda_of(version) == ToolkitVersion(cuda)


@pytest.mark.parametrize("driver", ["367.48", "700.1"])
def test_drivers_outside_the_tables(policy: Policy, driver: str) -> None:
    with pytest.raises(UnknownDriver, match=policy.date):
        policy.max_ptx(DriverVersion(driver))


def test_first_driver_for_a_ptx_version(policy: Policy) -> None:
    assert policy.first_driver_with_ptx(PtxVersion("8.5")) == DriverVersion("555.42.02")
    assert policy.first_driver_with_ptx(PtxVersion("8.6")).branch == 565
    with pytest.raises(UnknownDriver):
        policy.first_driver_with_ptx(PtxVersion("99.0"))


def test_gpus(policy: Policy) -> None:
    assert policy.gpu(103).family == (100, 103, 107)
    assert policy.gpu(87).tegra
    assert not policy.gpu(86).tegra
    assert policy.gpu_floor(89) == DriverVersion("520.61.05")
    assert policy.gpu_last_branch(61) == 580
    assert policy.gpu_last_branch(90) is None
    with pytest.raises(UnknownGpu):
        policy.gpu(130)


def test_toolkits(policy: Policy) -> None:
    row = policy.toolkit(ToolkitVersion("12.8.1"))
    assert (row.ptx, row.cubin_floor) == (PtxVersion("8.7"), DriverVersion("525.60.13"))
    assert "120a" in [arch.name for arch in row.archs]
    assert policy.cubin_floor(13) == DriverVersion("580.65.06")
    with pytest.raises(UnknownToolkit):
        policy.toolkit(ToolkitVersion("12.7"))


@pytest.mark.parametrize(
    ("toolkit", "mode", "kind", "codec"),
    [
        ("12.8", CompressionMode.SIZE, EntryKind.CUBIN, Codec.ZSTD),
        ("12.8", CompressionMode.DEFAULT, EntryKind.CUBIN, Codec.NONE),
        ("12.8", CompressionMode.DEFAULT, EntryKind.PTX, Codec.LZ4),
        ("13.0.2", CompressionMode.DEFAULT, EntryKind.PTX, Codec.ZSTD),
        ("13.5", CompressionMode.SPEED, EntryKind.PTX, Codec.LZ4),
        ("11.8", CompressionMode.DEFAULT, EntryKind.PTX, Codec.LZ4),
    ],
)
def test_compression(policy: Policy, toolkit: str, mode: CompressionMode, kind: EntryKind, codec: Codec) -> None:
    assert policy.codec_of(ToolkitVersion(toolkit), mode, kind) is codec


def test_compression_that_a_toolkit_lacks(policy: Policy) -> None:
    with pytest.raises(UnknownCompression):
        policy.codec_of(ToolkitVersion("12.4"), CompressionMode.SIZE, EntryKind.CUBIN)
    with pytest.raises(UnknownCompression):
        policy.codec_of(ToolkitVersion("12.8"), CompressionMode.SIZE, EntryKind.LTO_IR)


def test_codec_floors(policy: Policy) -> None:
    assert policy.codec_floor(Codec.ZSTD) == DriverVersion("550.54.14")
    assert policy.codec_floor(Codec.LZ4) is None
    with pytest.raises(UnknownCodec):
        policy.codec_floor(Codec.UNKNOWN)


def test_symbols(policy: Policy) -> None:
    assert policy.symbol_since("cuCtxCreate_v4") == ToolkitVersion("12.5")
    assert policy.symbol_since("cuWGLGetDevice") is None
    with pytest.raises(UnknownSymbol):
        policy.symbol_since("cuNoSuchThing")


def test_forward_compatibility(policy: Policy) -> None:
    asked = [("13.0", "535.1.1"), ("13.0", "580.1"), ("13.0", "590.1"), ("12.8", "580.65.06"), ("13.0", "545.23.06")]
    answers = [policy.forward_compatibility(ToolkitVersion(p), DriverVersion(d)) for p, d in asked]
    assert answers == [
        CompatStatus.COMPATIBLE,
        CompatStatus.NOT_NEEDED,
        CompatStatus.NOT_COMPATIBLE,
        CompatStatus.NOT_COMPATIBLE,
        CompatStatus.NOT_LISTED,
    ]


@pytest.mark.parametrize(
    ("driver", "arch", "version"),
    [
        ("535.288.01", "61", "12.2.140"),
        ("580.65.06", "75", "13.0.88"),
        ("580.65.06", "61", "12.9.86"),  # 13.0 knows Pascal no more: the newest that did
        ("620.70.06", "90a", "13.5.37"),
        ("470.256.02", "80", "11.7.99"),  # no wheel has 11.4: the first later one
        ("565.57.01", "90", "12.8.93"),  # no toolkit is 12.7
    ],
)
def test_the_assembler_nearest_to_a_drivers_jit(policy: Policy, driver: str, arch: str, version: str) -> None:
    assert policy.assembler(DriverVersion(driver), arch, "x86_64").version == version


def test_the_assemblers_are_those_that_the_tests_work_with(policy: Policy) -> None:
    pinned = {f"{row.package}=={row.version}" for row in policy.assemblers if row.platform == "x86_64"}
    assert {toolkit.nvcc for toolkit in TOOLKITS.values()} <= pinned
    assert all(Path(row.filename).name == row.filename for row in policy.assemblers)


def test_an_assembler_that_does_not_exist(policy: Policy) -> None:
    for arch, platform in (("999", "x86_64"), ("80f", "x86_64"), ("80", "riscv64")):
        with pytest.raises(UnknownAssembler):
            policy.assembler(DriverVersion("535.288.01"), arch, platform)
    with pytest.raises(UnknownDriver):
        policy.assembler(DriverVersion("699.0"), "80", "x86_64")


def test_every_row_has_source_and_date() -> None:
    for name in NAMES:
        assert read_table(name)


def test_loading_is_quick() -> None:
    best = min(_seconds(load_policy) for _ in range(5))
    assert best < 0.1  # 0.012 s measured; the bound only catches a change of kind


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("branches", "535,12.2,8.2", "535,12.2,7.2"),
        ("branches", "535,12.2,8.2,535.54.03", "535,12.2,8.2,545.54.03"),
        ("branches", "ptx-isa spack,2026", "hearsay,2026"),
        ("branches", "2026-11-30", "yesterday"),
        ("branches", "2026-11-30", ""),
        ("toolkits", "12.8,8.7,", "12.8,8.4,"),
        ("toolkits", " 120a,", " 120z,"),
        ("toolkits", " 121f,", ","),
        ("assemblers", "12.2,x86_64", "12.7,x86_64"),
        ("assemblers", "12.2,x86_64", "12.1,x86_64"),
        ("assemblers", "c6ff4ae7a636", "c6ff4ae7a63"),
        ("assemblers", "12.2,x86_64", "12.2,aarch64"),
        ("assemblers", "12.2.140,", "12.3.140,"),
        ("architectures", "107,Rubin,Rubin,no,100 103 107", "107,Rubin,Rubin,no,100 103"),
        ("architectures", "418.87.00,580", "418.87.00,390"),
        ("compression", "12.6,12.9,size,cubin", "12.6,12.8,size,cubin"),
        ("codecs", "zstd,550.54.14", "zstd,550"),
        ("cubin_abis", "\n8,555.42.02", "\n9,555.42.02"),
        ("ptx_minimum", "120,8.7", "120,8.9"),
        ("libcuda_symbols", "cuCtxCreate_v4,12.5", "cuCtxCreate_v4,1.5"),
        ("entry_kinds", "\n256,", "\n257,"),
    ],
)
def test_damaged_tables_are_refused(tmp_path: Path, table: str, old: str, new: str) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(FOLDER, folder)
    file = folder / f"{table}.csv"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InconsistentTables):
        load_policy(folder)


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(FOLDER, folder)
    (folder / "codecs.csv").write_text("codec,driver_floor,confidence,source,date\n")
    with pytest.raises(InconsistentTables, match="empty"):
        load_policy(folder)


@pytest.mark.parametrize(
    ("seen", "promised", "proves"),
    [
        ("80@535.288.01", "80@535.54.03", True),
        ("80@535.54.03", "80@535.288.01", True),
        ("80@535.288.01", "86@535.288.01", False),
        ("80@550.54.14", "80@535.288.01", False),
        ("80@550.90.07", "80@550.54.14", True),
        ("80@550.54.14", "80@550.40.07", False),  # Zstandard begins between the two
        ("80@999.1", "80@999.1", True),
        ("80@five", "80@535", False),
    ],
)
def test_what_proves_a_target(policy: Policy, seen: str, promised: str, proves: bool) -> None:
    assert policy.proves(seen, promised) is proves
