"""PTX that a product hands to the driver, by the ptxas nearest to each driver's JIT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.jit.made import compiled, said, verdicts
from tests.toolchain import kernel_ptx

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network
SOURCE = "language: ptx, files: [k.ptx]"


def test_each_driver_is_stood_for_by_its_own_assembler(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(kernel_ptx("k", "8.4", "sm_61"))
    report = compiled(tmp_path, SOURCE, "61@535, 61@550, 61@580")
    assert verdicts(report) == {"61@535.54.03": "fail", "61@550.54.14": "pass", "61@580.65.06": "pass"}
    assert [each.rule for each in report.findings] == ["ptx-isa"]
    assert {each.compiler for each in report.compilations} == {"ptxas 12.2.140", "ptxas 12.4.131", "ptxas 12.9.86"}


def test_an_instruction_that_the_gpu_lacks_is_told_in_its_line(tmp_path: Path) -> None:
    text = kernel_ptx("k", "7.4", "sm_61").replace(" ret;", " tanh.approx.f32 %f2, %f2;\n ret;")
    (tmp_path / "k.ptx").write_text(text)
    report = compiled(tmp_path, SOURCE, "61@535, 75@535")
    assert verdicts(report) == {"61@535.54.03": "fail", "75@535.54.03": "fail"}  # its .target is sm_61
    line = text[: text.index("tanh")].count("\n") + 1
    assert said(report, "jit-feature")[0].startswith(f"k.ptx:{line}: tanh.approx.f32")


def test_an_architecture_that_no_assembler_knows_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(kernel_ptx("k", "7.4", "sm_80"))
    report = compiled(tmp_path, f'{SOURCE}, toolkits: ["12.2"]', "100@580, 80@580")
    assert verdicts(report) == {"100@580.65.06": "fail", "80@580.65.06": "pass"}
    assert "nothing later than sm_90" in said(report, "toolkit-arch")[0]
