"""Builds the policy out of its tables and refuses tables that contradict themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, Gpu, TargetArch
from pipeline.model.image import Codec
from pipeline.model.versions import (
    DottedVersion,
    DriverVersion,
    GlibcVersion,
    GlibcxxVersion,
    PtxVersion,
    ToolkitVersion,
)
from pipeline.policy.jit import jit_tables
from pipeline.policy.policy import Policy
from pipeline.policy.rows import (
    AssemblerRow,
    BoardRow,
    Branch,
    CompatBoards,
    CompatRow,
    CompatStatus,
    CompressionRow,
    CudaError,
    CudaSoname,
    GpuRow,
    HostLibrary,
    KindRow,
    OptionalStack,
    Provider,
    RuntimeRow,
    ToolkitRow,
)
from pipeline.policy.tables import FOLDER, NAMES, read_table
from pipeline.policy.unknown import InconsistentTables, OutsidePolicy
from pipeline.policy.validate import validate

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, str]


def load_policy(folder: Path = FOLDER) -> Policy:
    """Read and check every table; ``InconsistentTables`` when they are not monotonic or not complete."""
    tables = {name: read_table(name, folder) for name in NAMES}
    try:
        policy = _build(tables)
        validate(policy, tables)
    except InconsistentTables:
        raise
    except (ValueError, OutsidePolicy) as error:
        raise InconsistentTables(f"policy tables: {error}") from error
    return policy


def _build(tables: dict[str, list[Row]]) -> Policy:
    toolkits = tuple(_toolkit(row) for row in tables["toolkits"])
    return Policy(
        date=max(row["date"] for name, rows in tables.items() if name != "sources" for row in rows),
        branches=tuple(_branch(row) for row in tables["branches"]),
        toolkits=toolkits,
        assemblers=_assemblers(tables["assemblers"], toolkits),
        jit=jit_tables(tables["jit_wheels"], tables["ptx_features"]),
        gpus=tuple(_gpu(row) for row in tables["architectures"]),
        codec_floors={Codec(row["codec"]): _driver(row["driver_floor"]) for row in tables["codecs"]},
        cubin_abi_floors={int(row["abi"]): _driver(row["driver_floor"]) for row in tables["cubin_abis"]},
        compression=tuple(_compression(row) for row in tables["compression"]),
        kinds=tuple(
            KindRow(int(row["kind"]), row["name"], _driver(row["driver_floor"])) for row in tables["entry_kinds"]
        ),
        compatibility=tuple(_compat(row) for row in tables["forward_compatibility"]),
        errors=tuple(_error(row) for row in tables["errors"]),
        ptx_minimum={row["arch"]: PtxVersion(row["ptx"]) for row in tables["ptx_minimum"]},
        symbols=_symbols(tables["libcuda_symbols"]),
        boards=tuple(
            BoardRow(row["name"], row["pattern"], tuple(row["brands"].split()), CompatBoards(row["compat"]))
            for row in tables["boards"]
        ),
        host_libraries={row["soname"]: _host_library(row) for row in tables["host_libraries"]},
        optional_stacks=tuple(OptionalStack(row["stack"], row["pattern"]) for row in tables["optional_stacks"]),
        runtimes=tuple(_runtime(row) for row in tables["libstdcxx"]),
        manylinux=tuple(_runtime(row) for row in tables["manylinux"]),
        cuda_sonames={
            row["soname"]: CudaSoname(row["soname"], int(row["cuda"]), row["needs_driver"] == "yes")
            for row in tables["cuda_sonames"]
        },
    )


def _driver(text: str) -> DriverVersion | None:
    return DriverVersion(text) if text else None


def _branch(row: Row) -> Branch:
    return Branch(
        number=int(row["branch"]),
        cuda=ToolkitVersion(row["cuda"]),
        max_ptx=PtxVersion(row["max_ptx"]),
        first_driver=_driver(row["first_driver"]),
        kind=row["kind"],
        eol=row["eol"],
    )


def _toolkit(row: Row) -> ToolkitRow:
    return ToolkitRow(
        version=ToolkitVersion(row["toolkit"]),
        ptx=PtxVersion(row["ptx"]),
        archs=tuple(TargetArch.of(name, ArchKind.REAL) for name in row["archs"].split()),
        cubin_floor=DriverVersion(row["cubin_floor"]),
        own_driver=DriverVersion(row["own_driver"]),
        abi_up_to_90=int(row["abi_up_to_90"] or 0),
        abi_from_100=int(row["abi_from_100"] or 0),
        concat=row["concat"] == "yes",
    )


def _assemblers(rows: list[Row], toolkits: tuple[ToolkitRow, ...]) -> tuple[AssemblerRow, ...]:
    known = {str(toolkit.version): toolkit for toolkit in toolkits}
    unlisted = sorted({row["cuda"] for row in rows} - set(known))
    if unlisted:
        raise InconsistentTables(f"policy table assemblers: {', '.join(unlisted)} not in the toolkits")
    return tuple(
        AssemblerRow(
            known[row["cuda"]], row["platform"], row["package"], row["version"], row["filename"], row["sha256"]
        )
        for row in rows
    )


def _gpu(row: Row) -> GpuRow:
    family = tuple(int(number) for number in row["family"].split())
    return GpuRow(
        gpu=Gpu(int(row["sm"]), family, row["tegra"] == "yes"),
        name=row["name"],
        products=tuple(product for product in row["gpus"].split("; ") if product),
        first_driver=DriverVersion(row["first_driver"]),
        last_branch=int(row["last_branch"]) if row["last_branch"] else None,
        shared_memory_opt_in=int(row["shared_memory_opt_in"]) if row["shared_memory_opt_in"] else None,
        suffixes=row["suffixes"],
    )


def _compression(row: Row) -> CompressionRow:
    return CompressionRow(
        first_toolkit=ToolkitVersion(row["first_toolkit"]),
        last_toolkit=ToolkitVersion(row["last_toolkit"]),
        mode=row["mode"],
        kind=row["kind"],
        codec=Codec(row["codec"]),
    )


def _compat(row: Row) -> CompatRow:
    return CompatRow(ToolkitVersion(row["package"].replace("-", ".")), int(row["branch"]), CompatStatus(row["status"]))


def _host_library(row: Row) -> HostLibrary:
    return HostLibrary(row["soname"], Provider(row["provider"]), row["minimal"] == "yes")


def _runtime(row: Row) -> RuntimeRow:
    return RuntimeRow(
        glibcxx=GlibcxxVersion(row["glibcxx"]),
        cxxabi=DottedVersion(row["cxxabi"]),
        libgcc=DottedVersion(row["libgcc"]),
        glibc=GlibcVersion(row["glibc"]) if "glibc" in row else None,
    )


def _error(row: Row) -> CudaError:
    return CudaError(int(row["code"]), row["driver_name"], row["runtime_name"], row["message"])


def _symbols(rows: list[Row]) -> dict[str, ToolkitVersion | None]:
    # 724 rows name some forty versions: each is built once.
    versions = {text: ToolkitVersion(text) for text in {row["cuda"] for row in rows} if text}
    return {row["symbol"]: versions.get(row["cuda"]) for row in rows}
