"""How long a gate takes over many lanes, records on disk included."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.evidence import append, read
from pipeline.gate import judge
from pipeline.model.lane import Target
from pipeline.model.versions import DriverVersion
from pipeline.report.gate_html import gate_html
from tests.bench.measure import Figure
from tests.values import A30, CPU, TERMS, bundle, cuda_lane, record

if TYPE_CHECKING:
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane

_LANES = 256
_TARGETS = tuple(Target(80 + number, DriverVersion("535.288.01")) for number in range(12))
_CHECKS = ("audit", "diff", *(target.checks[number % 2] for number, target in enumerate(_TARGETS[:6])))
_BAR = 1.0  # seconds
_LARGEST_PAGE = 2_000_000  # bytes


def gate() -> Figure:
    """256 lanes with 12 targets and 8 required checks each."""
    with tempfile.TemporaryDirectory() as scratch:
        lanes = [cuda_lane(id=f"lane-{number}", targets=_TARGETS, required=_CHECKS) for number in range(_LANES)]
        bundles = [bundle(Path(scratch), lane, lane.id.encode()) for lane in lanes]
        evidence = Path(scratch) / "evidence"
        for lane, artifact in zip(lanes, bundles, strict=True):
            _record_all(lane, artifact, evidence)
        started = time.perf_counter()
        verdicts = [
            judge(lane, artifact, read([evidence], artifact.sha256, now=TERMS.now), terms=TERMS)
            for lane, artifact in zip(lanes, bundles, strict=True)
        ]
        seconds = time.perf_counter() - started
    approved = sum(verdict.approved for verdict in verdicts)
    measured = f"{seconds:.2f} s, {approved} of {_LANES} lanes approved"
    return Figure("gate: 256 lanes x 12 targets x 8 checks", measured, "< 1 s", seconds < _BAR and approved == _LANES)


def page() -> Figure:
    """The HTML page of as many lanes, half of them refused: its size and how long it takes to write."""
    with tempfile.TemporaryDirectory() as scratch:
        lanes = [cuda_lane(id=f"lane-{number}", targets=_TARGETS, required=_CHECKS) for number in range(_LANES)]
        verdicts = [judge(lane, bundle(Path(scratch), lane, b""), [], terms=TERMS) for lane in lanes[: _LANES // 2]]
        for lane in lanes[_LANES // 2 :]:
            artifact = bundle(Path(scratch), lane, lane.id.encode())
            _record_all(lane, artifact, Path(scratch) / "evidence")
            records = read([Path(scratch) / "evidence"], artifact.sha256, now=TERMS.now)
            verdicts.append(judge(lane, artifact, records, terms=TERMS))
    started = time.perf_counter()
    size = len(gate_html(verdicts).encode())
    seconds = time.perf_counter() - started
    measured = f"{size / 1e6:.2f} MB in {seconds:.2f} s"
    return Figure("page: 256 lanes x 12 targets", measured, "< 2 MB, < 1 s", size < _LARGEST_PAGE and seconds < _BAR)


def _record_all(lane: Lane, artifact: Artifact, evidence: Path) -> None:
    rows = [{"sm": str(each.sm), "driver": str(each.driver), "verdict": "pass"} for each in lane.targets]
    for check in lane.required:
        machine = replace(A30, sm=int(check.split("@")[1])) if "@" in check else CPU
        document = {"targets": rows, "outcomes": []} if check == "audit" else {}
        append(evidence, record(lane, artifact, check, machine=machine, document=document))
