"""Rehearsals in tests: real ptxas out of the wheels of the tests' cache, PTX of one kernel around given lines."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pipeline.audit import run_audit
from pipeline.digest import file_sha256
from pipeline.rehearse import RehearseSettings, rehearse
from tests.toolchain import wheel

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport
    from pipeline.formats.facts import Inventory
    from pipeline.policy import Policy
    from pipeline.policy.rows import AssemblerRow
    from pipeline.rules.assembly import Assembly, Rehearsal
    from pipeline.rules.subject import Aim

_REGISTERS = ".reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b16 %h<4>; .reg .pred %p<3>;"


@functools.cache
def fetch(row: AssemblerRow) -> Path:
    """The wheel of that row, whose bytes are those that the table pins."""
    path = wheel(f"{row.package}=={row.version}")
    assert file_sha256(path) == row.sha256
    return path


SETTINGS = RehearseSettings(fetch=fetch, platform="x86_64", workers=2)


def ptx(body: str, *, version: str = "7.0", target: str = "sm_61", before: str = "", bounds: str = "") -> str:
    """PTX with one kernel called ``kern``; its body begins in line 8."""
    return (
        f".version {version}\n.target {target}\n.address_size 64\n{before}\n"
        f".visible .entry kern(.param .u64 p_out) {bounds}\n{{ {_REGISTERS}\n"
        f"ld.param.u64 %rd1, [p_out];\n{body}\nret;\n}}\n"
    )


def audited(path: Path, target: str, policy: Policy, settings: RehearseSettings = SETTINGS) -> AuditReport:
    """An audit with rehearsal."""

    def rehearsed(artifacts: tuple[tuple[Path, Inventory], ...], aims: tuple[Aim, ...]) -> Rehearsal:
        return rehearse(artifacts, aims, policy, settings)

    return run_audit([path], [policy.parse_target(each) for each in target.split()], policy, rehearse=rehearsed)  # type: ignore[arg-type]


def only(report: AuditReport) -> Assembly:
    """The one assembly of a report."""
    assert report.rehearsal is not None
    ((assembly,),) = ([item.assembly for item in target.containers] for target in report.rehearsal.targets)
    return assembly
