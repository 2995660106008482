"""Lanes with JIT sources for tests, compiled by the real compilers out of their wheels in the test cache."""

from __future__ import annotations

import hashlib
import os
import platform
from typing import TYPE_CHECKING

from pipeline.jit import JitReport, JitSettings, compile_lane
from pipeline.matrix.load import load_plan
from pipeline.policy import load_policy
from tests import toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.model.lane import Lane, PrebuiltWheel

POLICY = load_policy()
MATRIX = """\
version: 1
bundle: {{name: product, version: "1.0"}}
sources:
  bundle: {{file: product.tar.gz, sha256: "{zeros}"}}
{sources}smoke:
  s: {{command: [bin/server, "{{model}}", "{{port}}"]}}
jit_sources:
  kernels: {{{source}}}
matrix:
  include:
    - {{flavour: cuda, source: bundle, smoke: s, driver_floor: "525", jit_sources: [kernels], targets: [{targets}]}}
"""


def from_cache(wheel: PrebuiltWheel) -> Path:
    """The pinned wheel out of the test cache, its digest held."""
    path = toolchain.wheel(f"{wheel.package}=={wheel.version}")
    assert path.name == wheel.filename
    assert hashlib.sha256(path.read_bytes()).hexdigest() == wheel.sha256
    return path


def lane_of(folder: Path, source: str, targets: str, *, sources: str = "") -> Lane:
    """A lane with one JIT source, its files below ``folder``."""
    text = MATRIX.format(zeros="0" * 64, source=source, targets=targets, sources=sources)
    (folder / "matrix.yaml").write_text(text, encoding="utf-8")
    return load_plan(folder / "matrix.yaml").lanes[0]


def compiled(folder: Path, source: str, targets: str, *, sources: str = "", bundle: Path | None = None) -> JitReport:
    """The report on such a lane."""
    lane = lane_of(folder, source, targets, sources=sources)
    return compiled_lane(lane, bundle=bundle)


def compiled_lane(lane: Lane, *, bundle: Path | None = None) -> JitReport:
    """The report on a lane, with the compilers of the test cache."""
    settings = JitSettings(
        fetch=from_cache,
        cache=toolchain.cache() / "jit",
        platform=platform.machine(),
        workers=os.cpu_count() or 1,
        bundle=bundle,
    )
    return compile_lane(lane, lane.targets, POLICY, settings)


def verdicts(report: JitReport) -> dict[str, str]:
    """Verdict by target."""
    return {row.target.label: row.verdict.value for row in report.targets}


def said(report: JitReport, rule: str) -> Sequence[str]:
    """The findings of a rule, each as place, observation and remedy."""
    return [f"{each.path}: {each.observed} => {each.remedy}" for each in report.findings if each.rule == rule]
