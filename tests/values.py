"""Plain values for tests of the upper floors: a lane, its bundle, a record about it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.evidence import scope_of
from pipeline.gate import Terms
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.artifact import Artifact
from pipeline.model.evidence import Evidence, Machine, Origin
from pipeline.model.finding import Outcome, Status
from pipeline.model.lane import (
    BundleSpec,
    CompressionMode,
    EvidenceTerms,
    Flavour,
    Lane,
    Platform,
    Position,
    PrebuiltFile,
    SmokeSettings,
    Target,
)
from pipeline.model.versions import DriverVersion, GlibcVersion, ToolkitVersion
from pipeline.policy import load_policy
from pipeline.policy.digest import tables_digest

POLICY = load_policy()
ORIGIN = Origin(tool="0", policy=tables_digest())
TERMS = Terms(now=datetime(2026, 1, 2, tzinfo=UTC), policy=POLICY, tables=ORIGIN.policy, wanted=EvidenceTerms())
CPU = Machine(platform="x86_64", kernel="6.1", glibc="2.36", device="cpu", engine="process")
A30 = replace(CPU, device="cuda", gpu="A30", uuid="GPU-1", sm=80, driver="535.288.01")


def cpu_lane(**changes: Any) -> Lane:
    """A prebuilt CPU lane that asks for an audit and a smoke."""
    lane = Lane(
        id="cpu",
        bundle=BundleSpec("server", "1.0"),
        flavour=Flavour.CPU,
        platform=Platform.X86_64,
        source=PrebuiltFile(Path("server.tar.gz"), "0" * 64),
        recipe=None,
        toolkit=None,
        toolkit_origin=None,
        archs=(),
        compression=None,
        base_image=None,
        driver_floor=None,
        host_glibc=GlibcVersion("2.31"),
        host_libraries=(),
        targets=(),
        smoke=SmokeSettings(command=("server",)),
        required=("audit", "smoke@cpu"),
        waivers=(),
        on_demand=False,
        combination={"flavour": "cpu"},
        position=Position("matrix.yaml", 1, 1),
    )
    return replace(lane, **changes)


def cuda_lane(**changes: Any) -> Lane:
    """A CUDA lane that promises an A30 on driver 535.288.01."""
    target = Target(80, DriverVersion("535.288.01"), gpu="A30")
    lane = cpu_lane(
        id="cuda12.8-sm80",
        flavour=Flavour.CUDA,
        toolkit=ToolkitVersion("12.8.1"),
        archs=(TargetArch.of("80", ArchKind.REAL),),
        compression=CompressionMode.SPEED,
        driver_floor=DriverVersion("525.60.13"),
        targets=(target,),
        required=("audit", f"smoke@{target.label}"),
    )
    return replace(lane, **changes)


def bundle(directory: Path, lane: Lane, content: bytes = b"bytes") -> Artifact:
    """A file of ``content`` that stands for the lane's bundle where only its digest matters."""
    path = directory / f"{lane.id}.tar.gz"
    path.write_bytes(content)
    return Artifact(lane.id, path, hashlib.sha256(content).hexdigest(), len(content), "recipe")


def record(
    lane: Lane, artifact: Artifact, check: str, *, status: Status = Status.PASS, machine: Machine = CPU, **changes: Any
) -> Evidence:
    """A record that ``check`` had ``status`` on ``machine``."""
    reason = None if status is Status.PASS else f"because {status}"
    evidence = Evidence(
        subject=artifact.sha256,
        lane=lane.id,
        check=check,
        scope=scope_of(lane, check),
        outcome=Outcome(rule=check, status=status, examined=1, reason=reason),
        machine=machine,
        started="2026-01-01T00:00:00Z",
        finished="2026-01-01T00:00:01Z",
        document={},
        origin=ORIGIN,
    )
    return replace(evidence, **changes)
