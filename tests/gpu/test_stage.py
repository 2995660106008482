"""The stage: evidence where this machine is the target, a recorded skip where it is not, and nothing in between."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pipeline.build.settings import BuildSettings, Network
from pipeline.errors import ExitStatus
from pipeline.machine import InstalledGpu
from pipeline.model.artifact import Artifact
from pipeline.model.evidence import hashed
from pipeline.model.finding import Status
from pipeline.report.progress import Talk
from pipeline.resources import find_resources
from pipeline.stages.load import load_lane
from pipeline.stages.street import Engines, Street
from tests.gpu import made
from tests.gpu.standin import NO_BINARY, SUCCESS, StandIn, build
from tests.gpu.test_load import NATIVE, native
from tests.values import ORIGIN, cuda_lane

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.stages.check import Observation

HERE = InstalledGpu(0, "NVIDIA H200", "", 90, "580.159.04")
CHECK = "load@90@580.159.04"


def look(driver: StandIn, file: Path, *gpus: InstalledGpu, check: str = CHECK) -> Observation:
    environment = driver.environment()
    street = Street(
        state=driver.folder,
        evidence=driver.folder / "evidence",
        talk=Talk(io.StringIO(), environment),
        clock=lambda: datetime(2026, 11, 30, tzinfo=UTC),
        environment=environment,
        engines=Engines(environment),
        build=BuildSettings(find_resources(), Network(), 0),
        gpus=lambda: tuple(replace(gpu, uuid=driver.uuid) for gpu in gpus),
        origin=ORIGIN,
    )
    return load_lane(cuda_lane(), Artifact("a", file, "0" * 64, 1, "0" * 64), check, street)


def test_evidence_where_it_loads(driver: StandIn, tmp_path: Path) -> None:
    seen = look(driver, made.library(tmp_path / "lib.so", [native(driver)]), HERE)
    assert (seen.outcome.status, seen.outcome.examined, seen.status) == (Status.PASS, 1, ExitStatus.PASS)
    assert (seen.machine.sm, seen.machine.driver, seen.machine.device) == (90, "580.159.04", "cuda")
    assert seen.document["containers"][0]["result"] == SUCCESS
    text = json.dumps([seen.document, seen.machine.to_json()])
    assert driver.uuid not in text
    assert hashed(driver.uuid) in text


def test_a_failure_names_the_first_container(driver: StandIn, tmp_path: Path) -> None:
    bad = driver.answers(made.fatbin(made.cubin("89")), NO_BINARY)
    seen = look(driver, made.library(tmp_path / "lib.so", [native(driver), bad]), HERE)
    assert (seen.outcome.status, seen.status) == (Status.FAIL, ExitStatus.REFUSED)
    assert seen.outcome.reason is not None
    assert seen.outcome.reason.startswith("1 of 2 containers do not load: CUDA_ERROR_NO_BINARY_FOR_GPU (")


def test_a_contradiction_never_approves(driver: StandIn, tmp_path: Path) -> None:
    strange = driver.answers(made.fatbin(made.cubin("89")), *NATIVE)
    seen = look(driver, made.library(tmp_path / "lib.so", [strange]), HERE)
    assert (seen.outcome.status, seen.status) == (Status.ERROR, ExitStatus.REFUSED)
    assert "DISAGREEMENT" in (seen.outcome.reason or "")


def test_nothing_to_load_never_approves(driver: StandIn, tmp_path: Path) -> None:
    seen = look(driver, made.library(tmp_path / "lib.so", []), HERE)
    assert seen.outcome.status is not Status.PASS
    assert seen.status is ExitStatus.NOTHING_EXAMINED


@pytest.mark.parametrize(
    "gpus",
    [(), (replace(HERE, sm=80),), (replace(HERE, driver="590.44.01"),)],
    ids=["none", "another GPU", "another branch"],
)
def test_another_machine_is_a_skip_with_its_reason(
    driver: StandIn, tmp_path: Path, gpus: tuple[InstalledGpu, ...]
) -> None:
    seen = look(driver, made.library(tmp_path / "lib.so", [native(driver)]), *gpus)
    assert seen.outcome.status is Status.SKIPPED
    assert "no GPU 90@580.159.04 on this machine" in (seen.outcome.reason or "")
    assert driver.loads() == []


def test_another_driver_of_the_branch_is_evidence_and_says_which(driver: StandIn, tmp_path: Path) -> None:
    file = made.library(tmp_path / "lib.so", [native(driver)])
    seen = look(driver, file, HERE, check="load@90@580.65.06")
    assert seen.outcome.status is Status.PASS
    assert seen.machine.driver == "580.159.04"


def test_of_two_that_prove_it_the_named_one_is_taken(driver: StandIn, tmp_path: Path) -> None:
    other = replace(HERE, driver="580.65.06")
    seen = look(driver, made.library(tmp_path / "lib.so", [native(driver)]), other, HERE)
    assert seen.machine.driver == "580.159.04"


def test_a_driver_that_is_not_the_installed_one_is_a_skip(driver: StandIn, tmp_path: Path) -> None:
    """nvidia-smi speaks of the kernel module; a forward-compatibility libcuda answers in its place."""
    there = replace(HERE, driver="570.86.10")
    seen = look(driver, made.library(tmp_path / "lib.so", [native(driver)]), there, check="load@90@570.86.10")
    assert seen.outcome.status is Status.SKIPPED
    assert "which is not the driver of 90@570.86.10" in (seen.outcome.reason or "")


def test_a_forward_compatibility_library_is_a_skip_even_of_the_same_version(tmp_path: Path) -> None:
    compat = StandIn(build(tmp_path / "compat"), tmp_path)
    seen = look(compat, made.library(tmp_path / "lib.so", [native(compat)]), HERE)
    assert seen.outcome.status is Status.SKIPPED
