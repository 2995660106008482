"""Programs built with ``-rdc=true``, by nvcc: what the device link lacks is linked at their start, out of PTX.

Seen on an H200 with driver 580.159.04 (docs/evidence/h200-r580-questions.json): the first two answer 42, the third
``cudaErrorSymbolNotFound``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.gpu.forecast import Forecaster, Role
from pipeline.inventory import take_inventory
from pipeline.model.finding import Verdict
from pipeline.rules.choice import JitPass
from tests import toolchain
from tests.fixture_server.builder import cuda_home
from tests.gpu.questions_run import CALLED, CALLER, LINKS
from tests.values import POLICY

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import TargetReport

H200 = POLICY.parse_target("90@580.159.04")
BEFORE = POLICY.parse_target("90@570.86.10")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One program for each way to list architectures."""
    folder = tmp_path_factory.mktemp("rdc")
    (folder / "a.cu").write_text(CALLER)
    (folder / "b.cu").write_text(CALLED)
    return {name: _linked(folder, f"program{number}", codes) for number, (name, codes) in enumerate(LINKS.items())}


def _linked(folder: Path, name: str, codes: tuple[str, ...]) -> Path:
    home = cuda_home()
    gencode = [word for code in codes for word in ("-gencode", code)]
    sources = (folder / "a.cu", folder / "b.cu")
    toolchain.run([home / "bin" / "nvcc", "-rdc=true", *gencode, *sources, "-o", folder / name, f"-L{home / 'lib'}"])
    return folder / name


def judged(program: Path, *, before: bool = False) -> TargetReport:
    return run_audit([program], [BEFORE if before else H200], POLICY).targets[0]


@pytest.mark.parametrize("name", ["relocatable PTX, final cubin for another SM", "relocatable PTX, nothing final"])
def test_relocatable_ptx_serves_what_the_device_link_lacks(programs: dict[str, Path], name: str) -> None:
    target = judged(programs[name])
    assert (target.verdict, target.fatbins.jit) == (Verdict.PASS, 1)
    assert target.jit_forbidden.errors == ("CUDA_ERROR_JIT_COMPILATION_DISABLED",)
    assert target.jit_forced.verdict is Verdict.PASS


@pytest.mark.parametrize("name", ["relocatable PTX, final cubin for another SM", "relocatable PTX, nothing final"])
def test_relocatable_ptx_is_held_against_the_drivers_jit(programs: dict[str, Path], name: str) -> None:
    target = judged(programs[name], before=True)
    assert (target.verdict, target.causes) == (Verdict.FAIL, ("ptx-isa",))


def test_without_ptx_what_the_device_link_lacks_is_missing(programs: dict[str, Path]) -> None:
    target = judged(programs["no PTX, final cubin for another SM"])
    assert (target.verdict, target.causes) == (Verdict.FAIL, ("arch-missing",))


def test_a_final_cubin_needs_no_link(programs: dict[str, Path]) -> None:
    target = judged(programs["final cubin for this SM"])
    assert (target.verdict, target.fatbins.native) == (Verdict.PASS, 1)
    assert target.jit_forced.verdict is Verdict.FAIL


def test_a_load_gives_the_final_container_alone_and_counts_no_failure(programs: dict[str, Path]) -> None:
    inventory = take_inventory(programs["relocatable PTX, final cubin for another SM"])
    forecaster = Forecaster.of(inventory, H200, POLICY, None)
    (final,) = (item for item in forecaster.containers(inventory) if item.role is Role.KERNELS)
    assert final.forecast is not None
    assert final.forecast.of(JitPass.AS_IS) == "CUDA_ERROR_NO_BINARY_FOR_GPU"
    assert final.forecast.by_design
