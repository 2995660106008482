"""How a rehearsal scales: the same PTX with one assembler at a time and with one for each processor, in turn."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.audit import run_audit
from pipeline.audit.aims import aim_at
from pipeline.audit.judge import units_in
from pipeline.inventory import take_inventory
from pipeline.policy import load_policy
from pipeline.rehearse import rehearse
from pipeline.rehearse.texts import Texts
from pipeline.rehearse.wanted import wanted_by
from tests.bench.measure import Figure
from tests.rehearse.assemblers import SETTINGS
from tests.released.audits import fetched
from tests.released.corpus import NODE_LLAMA_CPP
from tests.toolchain import unpacked

if TYPE_CHECKING:
    from pipeline.audit.report import AuditReport
    from pipeline.policy import Policy

TARGET = "75@590.44.01"
EVERY = 10
"""Of the library's 140 texts every tenth by size: the whole takes eight minutes of one processor."""


def rehearsal() -> Figure:
    """PTX of llama.cpp's CUDA library for one SM; at least 0.8 of linear in processors."""
    policy, processors = load_policy(), min(len(os.sched_getaffinity(0)), 8)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _sample(folder, policy)
        alone, together = (_rehearsed(folder, policy, workers) for workers in (1, processors))
        bare = _bare(folder, processors)
    ratio = alone / together / processors
    measured = f"{ratio:.2f} of linear: {alone:.0f} s, {together:.0f} s by {processors} (bare xargs {bare:.0f} s)"
    return Figure(f"rehearse PTX of llama.cpp for {TARGET}", measured, ">= 0.8", ratio >= 0.8)


def _sample(folder: Path, policy: Policy) -> None:
    """Texts of all sizes, taken out of the released package."""
    package = fetched(NODE_LLAMA_CPP)
    inventory = take_inventory(package)
    aim = aim_at(policy.parse_target(TARGET), units_in([inventory]).loaded, None, policy)
    with tempfile.TemporaryDirectory() as everything:
        texts = Texts(Path(everything), 4 << 30)
        texts.take(package, inventory, [item.text for item in wanted_by(aim)])
        kept = sorted({text.sha256: text for text in texts.kept.values()}.values(), key=lambda text: text.size)
        for text in kept[::EVERY]:
            text.path.rename(folder / text.path.name)


def _bare(folder: Path, processors: int) -> float:
    """Seconds of ptxas alone on the same texts, as many at a time: what the machine has to give at that moment."""
    ptxas = next(unpacked("nvidia-cuda-nvcc==13.1.115").glob("**/bin/ptxas"))
    texts = sorted(folder.glob("*.ptx"), key=lambda path: -path.stat().st_size)
    command = ["xargs", "-n", "1", "-P", str(processors), str(ptxas), "-arch", "sm_75", "-o", "/dev/null"]
    started = time.monotonic()
    subprocess.run(command, input="\n".join(map(str, texts)), text=True, check=True)
    return time.monotonic() - started


def _rehearsed(folder: Path, policy: Policy, workers: int) -> float:
    """Seconds on the clock."""
    settings = replace(SETTINGS, workers=workers)
    report: AuditReport = run_audit(
        [folder],
        [policy.parse_target(TARGET)],
        policy,
        rehearse=lambda found, aims: rehearse(found, aims, policy, settings),
    )
    if report.rehearsal is None or report.status:
        raise RuntimeError(f"the rehearsal ended with {report.findings}")
    return report.rehearsal.seconds
