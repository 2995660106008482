"""On a real GPU: the rules against the driver, with PTX alone, so that nothing has to be installed there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pipeline.gpu.load import load_modules
from pipeline.gpu.settings import LoadSettings
from pipeline.model.finding import Verdict
from pipeline.rules.choice import Via
from tests.toolchain import TOOLKITS, kernel_ptx

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.machine import InstalledGpu
    from tests.gpu.conftest import GetPolicy

pytestmark = pytest.mark.gpu


def test_the_driver_does_what_the_rules_say(gpus: tuple[InstalledGpu, ...], tmp_path: Path, policy: GetPolicy) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for toolkit in TOOLKITS.values():
        for arch in (75, 80, 90, 100, 120):
            if policy().ptx_minimum[str(arch)] <= type(policy().ptx_minimum[str(arch)])(toolkit.ptx):
                text = kernel_ptx("k", toolkit.ptx, f"sm_{arch}")
                (folder / f"{toolkit.ptx}-{arch}.ptx").write_text(text)
    report = load_modules(folder, policy, LoadSettings(environment=os.environ))
    assert len(report.observed) >= 40
    assert not [(str(item.path), item.result) for item in report.disagreements]
    assert report.machine.driver.branch == int(gpus[0].driver.split(".")[0])


def test_what_compiles_is_served_by_the_jit_and_timed(
    gpus: tuple[InstalledGpu, ...], tmp_path: Path, policy: GetPolicy
) -> None:
    (tmp_path / "k.ptx").write_text(kernel_ptx("k", "7.8", "sm_75"))
    report = load_modules(tmp_path / "k.ptx", policy, LoadSettings(environment=os.environ))
    assert report.verdict is Verdict.PASS
    assert report.observed[0].via is Via.JIT
    assert (report.observed[0].jit_seconds or 0) > 0
    assert report.machine.gpu == gpus[0].name
