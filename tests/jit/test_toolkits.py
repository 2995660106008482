"""Every NVRTC that the policy pins: fetched, held against its digest, and asked to compile."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest

from pipeline.policy.jit import Part
from tests.jit.made import POLICY, compiled, verdicts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]
PINNED = [str(row.cuda) for row in POLICY.jit.wheels if row.part is Part.NVRTC and row.platform == platform.machine()]
HALVES = """
#include <cuda_fp16.h>
extern "C" __global__ void halve(__half* row) { row[threadIdx.x] = __hmul(row[threadIdx.x], __float2half(0.5f)); }
"""


@pytest.mark.parametrize("cuda", PINNED)
def test_it_compiles_for_what_it_knows_and_says_what_it_does_not(tmp_path: Path, cuda: str) -> None:
    (tmp_path / "k.cu").write_text(HALVES)
    source = f'language: cuda, files: [k.cu], toolkits: ["{cuda}"]'
    report = compiled(tmp_path, source, "61@620.70.06, 75@620.70.06, 80@620.70.06")
    old = "pass" if cuda.partition(".")[0] in {"11", "12"} else "fail"
    assert verdicts(report) == {"61@620.70.06": old, "75@620.70.06": "pass", "80@620.70.06": "pass"}
    assert {each.rule for each in report.findings} <= {"toolkit-arch"}
