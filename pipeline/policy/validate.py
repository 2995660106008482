"""Checks that the tables are ordered, complete and agree with each other; runs on every load."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pipeline.model.image import Codec, EntryKind
from pipeline.model.target import CompressionMode
from pipeline.policy.unknown import InconsistentTables, OutsidePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pipeline.policy.policy import Policy

_DATE = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_VERSIONED = re.compile(r"_v[2-9]$")


def validate(policy: Policy, tables: dict[str, list[dict[str, str]]]) -> None:
    """Raise ``InconsistentTables`` at the first contradiction."""
    _check_sources(tables)
    _check_branches(policy)
    _check_toolkits(policy)
    _check_assemblers(policy)
    _check_jit(policy)
    _check_gpus(policy)
    _check_containers(policy)
    _check_symbols(policy)
    _check_hosts(policy)


def _refuse(what: str) -> None:
    raise InconsistentTables(f"policy tables: {what}", remedy="correct the table under pipeline/policy/tables")


def _rising(what: str, values: Iterable[Any], key: Callable[[Any], Any], *, strictly: bool = True) -> None:
    for lower, upper in pairwise(values):
        if key(upper) < key(lower) or (strictly and key(upper) == key(lower)):
            _refuse(f"{what} does not rise at {upper}")


def _check_sources(tables: dict[str, list[dict[str, str]]]) -> None:
    known = {row["id"] for row in tables["sources"]}
    cited = {(row["source"], row["date"]) for name, rows in tables.items() if name != "sources" for row in rows}
    for sources, date in cited:
        missing = set(sources.split()) - known
        if missing:
            _refuse(f"source {', '.join(sorted(missing))} is not in sources.csv")
        if not _DATE.fullmatch(date):
            _refuse(f"{date!r} is not a date")


def _check_branches(policy: Policy) -> None:
    rows = policy.branches
    _rising("driver branch", rows, lambda row: row.number)
    _rising("CUDA version of the driver", rows, lambda row: row.cuda)
    _rising("newest PTX ISA of the driver", rows, lambda row: row.max_ptx, strictly=False)
    for row in rows:
        if row.first_driver is not None and row.first_driver.branch != row.number:
            _refuse(f"{row.first_driver} is not a driver of {row.label}")


def _check_toolkits(policy: Policy) -> None:
    rows = policy.toolkits
    _rising("toolkit", rows, lambda row: row.version)
    _rising("PTX ISA of the toolkit", rows, lambda row: row.ptx, strictly=False)
    _rising("cubin floor", rows, lambda row: row.cubin_floor, strictly=False)
    for row in rows:
        branch = policy.branch(row.own_driver)
        if branch.cuda != row.version or branch.max_ptx != row.ptx:
            _refuse(f"toolkit {row.version} and its driver {row.own_driver} disagree on CUDA or PTX ISA")
        for arch in row.archs:
            if policy.ptx_minimum_of(arch) > row.ptx:
                _refuse(f"toolkit {row.version} cannot write PTX for {arch}")


def _check_assemblers(policy: Policy) -> None:
    for platform in {row.platform for row in policy.assemblers}:
        rows = [row for row in policy.assemblers if row.platform == platform]
        _rising(f"toolkit of the assemblers for {platform}", rows, lambda row: row.toolkit.version)
    for row in policy.assemblers:
        if not _SHA256.fullmatch(row.sha256) or not row.version.startswith(f"{row.toolkit.version}."):
            _refuse(f"{row.filename} is not pinned as an assembler of CUDA {row.toolkit.version}")
        if not row.filename.endswith(f"{row.platform}.whl"):
            _refuse(f"{row.filename} is not for {row.platform}")


def _check_jit(policy: Policy) -> None:
    emitted = {arch.name for row in policy.toolkits for arch in row.archs}
    for row in policy.jit.features:
        if row.first.name not in emitted:
            _refuse(f"{row.name} begins with {row.first}, which no toolkit emits")
        if row.ptx and not row.is_in(row.example):
            _refuse(f"the example of {row.name} does not use it")


def _check_gpus(policy: Policy) -> None:
    _rising("SM number", policy.gpus, lambda row: row.gpu.number)
    emitted = {arch.name for row in policy.toolkits for arch in row.archs}
    listed = {f"{row.gpu.number}{suffix}" for row in policy.gpus for suffix in ("", *row.suffixes)}
    if emitted != listed or set(policy.ptx_minimum) != listed:
        _refuse(f"architectures disagree: {sorted(emitted ^ listed | set(policy.ptx_minimum) ^ listed)}")
    for row in policy.gpus:
        if row.gpu.number not in row.gpu.family:
            _refuse(f"{row.gpu} is not in its own family")
        if row.last_branch is not None and row.last_branch < row.first_driver.branch:
            _refuse(f"{row.gpu} is retired before it is served")


def _check_containers(policy: Policy) -> None:
    for codec in (Codec.NONE, Codec.LZ4, Codec.ZSTD):
        policy.codec_floor(codec)
    for abi in {abi for row in policy.toolkits for abi in (row.abi_up_to_90, row.abi_from_100) if abi}:
        policy.cubin_abi_floor(abi)
    for kind in EntryKind:
        policy.kind_row(kind)
    first_with_modes = min(row.first_toolkit for row in policy.compression if row.mode == CompressionMode.SIZE.value)
    for row in policy.toolkits:
        modes = tuple(CompressionMode) if row.version >= first_with_modes else (CompressionMode.DEFAULT,)
        for mode in modes:
            for kind in (EntryKind.PTX, EntryKind.CUBIN):
                try:
                    policy.codec_of(row.version, mode, kind)
                except OutsidePolicy as error:
                    _refuse(error.message)


def _check_hosts(policy: Policy) -> None:
    _rising("GLIBCXX version", policy.runtimes, lambda row: row.glibcxx)
    _rising("glibc of a manylinux policy", policy.manylinux, lambda row: row.glibc)
    for rows in (policy.runtimes, policy.manylinux):
        for what in ("glibcxx", "cxxabi", "libgcc"):
            _rising(what, rows, lambda row, what=what: getattr(row, what), strictly=False)  # type: ignore[misc]
    for row in policy.gpus:
        for product in row.products:
            if policy.board(product) is None and product != "GB10 (DGX Spark)":
                _refuse(f"{product} is in no row of the boards")
    for soname in policy.cuda_sonames.values():
        policy.cubin_floor(soname.major)


def _check_symbols(policy: Policy) -> None:
    for name, since in policy.symbols.items():
        base = policy.symbols.get(_VERSIONED.sub("", name))
        if base is not None and since is not None and since < base:
            _refuse(f"{name} is older than its first version")
