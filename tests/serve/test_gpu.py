"""Whether the GPU did it: a stand-in NVML, and servers that pretend; what is not said or not seen is never a pass."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.engine.process import ProcessEngine
from pipeline.errors import ExitStatus, InfrastructureError
from pipeline.machine import InstalledGpu, this_machine
from pipeline.model.finding import Status, Verdict
from pipeline.model.lane import SmokeBudgets
from pipeline.serve import gpu
from pipeline.serve.bundle import smoke_bundle
from pipeline.serve.gpu import CardWatch, given_back, statement, taken
from pipeline.serve.launch import default_settings
from pipeline.serve.outcome import CheckFailed, CheckId, Fault
from pipeline.serve.signals import MemorySeen, Use
from tests.fixture_server import builder
from tests.serve.card import GIB, STATED, UUID, Card, pretending
from tests.serve.conftest import placed

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.outcome import SmokeReport

H200 = InstalledGpu(0, "NVIDIA H200", UUID, 90, "580.65.06")


# what the server says

BUFFER = "load_tensors:        CUDA0 model buffer size =     {} MiB"
SAYS = {
    "": Fault.GPU_NOT_STATED,
    "load_tensors:   CPU_Mapped model buffer size =     0.47 MiB": Fault.GPU_NOT_STATED,
    "load_tensors: moved all layers to the GPU\n" + BUFFER.format("0.47"): Fault.GPU_NOT_STATED,
    "load_tensors: offloaded 3/3 layers to GPU": Fault.GPU_NOT_STATED,
    "load_tensors: offloaded 3/3 layers to GPU\nCUDA_Host model buffer size = 0.47 MiB": Fault.GPU_NOT_STATED,
    "load_tensors: offloaded 0/3 layers to GPU\n" + BUFFER.format("0.47"): Fault.GPU_NOT_USED,
    "load_tensors: offloaded 2/3 layers to GPU\n" + BUFFER.format("0.47"): Fault.GPU_NOT_USED,
    "load_tensors: offloaded 0/0 layers to GPU\n" + BUFFER.format("0.47"): Fault.GPU_NOT_USED,
    "load_tensors: offloaded 3/3 layers to GPU\n" + BUFFER.format("0.00"): Fault.GPU_NOT_USED,
}


def test_a_server_that_says_where_its_layers_are_is_believed() -> None:
    said = statement(
        f"I ggml_cuda_init: found 1 CUDA devices\n{STATED}\nload_tensors: CUDA1 model buffer size = 1.5 MiB"
    )
    assert (said.layers, said.of, said.mebibytes) == (3, 3, 1.97)


@pytest.mark.parametrize("log", SAYS)
def test_anything_else_is_no_statement(log: str) -> None:
    with pytest.raises(CheckFailed) as failure:
        statement(log)
    assert failure.value.fault is SAYS[log]


# what the card's memory says


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return Card.made(tmp_path / "card")


def test_memory_and_processes_are_told_as_they_are_now(card: Card) -> None:
    with CardWatch(UUID, card.environment) as watch:
        assert watch.look() == Use(GIB, frozenset())
        card.tell("process 77 1048576", "process 78 18446744073709551615", used=2 * GIB)
        assert watch.look() == Use(2 * GIB, frozenset({77, 78}))


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("fail nvmlInit_v2 9", "Driver Not Loaded"),
        ("fail nvmlDeviceGetMemoryInfo 15", "GPU is lost"),
        ("fail nvmlDeviceGetComputeRunningProcesses_v3 999", "Unknown Error"),
        ("crash nvmlInit_v2", "ended without an answer"),
        ("hang nvmlInit_v2", "did not answer in 0.3 s"),
    ],
)
def test_nvml_in_trouble_does_not_judge_the_product(
    card: Card, trouble: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trouble.startswith("hang"):
        monkeypatch.setattr(gpu, "_ANSWER", 0.3)
    card.tell(trouble)
    with CardWatch(UUID, card.environment) as watch, pytest.raises(InfrastructureError, match=words):
        watch.look()


def test_no_nvml_and_no_such_card_do_not_judge_the_product(card: Card) -> None:
    with CardWatch(UUID, {}) as watch, pytest.raises(InfrastructureError, match=r"libnvidia-ml\.so\.1"):
        watch.look()
    with CardWatch("GPU-other", card.environment) as watch, pytest.raises(InfrastructureError, match="Not Found"):
        watch.look()


NOBODY: frozenset[int] = frozenset()


@pytest.mark.parametrize(
    ("during", "processes", "by_process"),
    [
        (GIB + (500 << 20), NOBODY, False),
        (GIB, frozenset({42}), True),
        (GIB + (500 << 20), frozenset({42, 7}), True),
    ],
)
def test_memory_taken_or_a_process_named_is_a_signal(during: int, processes: frozenset[int], by_process: bool) -> None:
    seen = taken(Use(GIB, NOBODY), Use(during, processes), [41, 42])
    assert seen == MemorySeen(GIB, during, by_process)


@pytest.mark.parametrize("during", [GIB, GIB - 1, GIB + (1 << 20)])
def test_memory_left_alone_is_none(during: int) -> None:
    with pytest.raises(CheckFailed) as failure:
        taken(Use(GIB, NOBODY), Use(during, frozenset({7})), [42])
    assert failure.value.fault is Fault.GPU_MEMORY_UNTOUCHED


def test_memory_may_take_a_moment_to_come_back(card: Card) -> None:
    card.tell("process 42 524288000", used=GIB + (500 << 20))
    with CardWatch(UUID, card.environment) as watch:
        watch.look()
        script = f"sleep 0.4; printf 'uuid {UUID}\\nused {GIB}\\n' > {card.table}"
        with subprocess.Popen(["sh", "-c", script]):
            began = time.monotonic()
            seen = given_back(watch, MemorySeen(GIB, GIB + (500 << 20), by_process=True), [42])
            assert 0.2 < time.monotonic() - began < 3
    assert seen.left == 0


# whole smokes


def smoked(tmp_path: Path, models: Path, card: Card, script: str, settings: SmokeSettings | None = None) -> SmokeReport:
    bundle = tmp_path / "bundle"
    (bundle / "bin").mkdir(parents=True, exist_ok=True)
    server = bundle / "bin" / "llama-server"
    server.write_text(script)
    server.chmod(0o755)
    place = replace(
        placed(tmp_path, models, engine=ProcessEngine(os.environ)),
        machine=this_machine(engine="process", gpu=H200),
        environment=card.environment,
    )
    return smoke_bundle(bundle, lambda: "0" * 64, settings or default_settings(bundle), place)


def test_a_server_that_says_and_takes_what_a_gpu_s_does_passes(tmp_path: Path, models: Path, card: Card) -> None:
    report = smoked(tmp_path, models, card, pretending(builder.cpu_server(), card))
    assert report.verdict is Verdict.PASS, report.to_json()
    told = report.to_json()["models"][0]
    assert told["gpu_stated"] == {"layers": 3, "of": 3, "model_mebibytes": 0.47}
    memory = told["gpu_memory"]
    assert (memory["before"], memory["during"], memory["after"], memory["left"]) == (GIB, GIB * 3 // 2, GIB, 0)
    assert UUID not in str(report.to_json())


def faults(report: SmokeReport) -> set[tuple[CheckId, Fault | None]]:
    return {(check.id, check.fault) for check in report.checks if check.status in {Status.FAIL, Status.ERROR}}


CHANGED = STATED.replace("offloaded", "placed").replace("buffer", "memory")
TWINS = {
    "says nothing": (pretending, {"says": "load_tensors: CPU model buffer size = 0.47 MiB"}, Fault.GPU_NOT_STATED),
    "words have changed": (pretending, {"says": CHANGED}, Fault.GPU_NOT_STATED),
    "-ngl 0": (pretending, {"says": STATED.replace("3/3", "0/3")}, Fault.GPU_NOT_USED),
    "says it and takes nothing": (pretending, {"takes": 0}, Fault.GPU_MEMORY_UNTOUCHED),
    "keeps memory": (pretending, {"leaves": 100 << 20}, Fault.LEAVES_GPU_MEMORY),
}


@pytest.mark.parametrize("name", TWINS)
def test_each_way_of_not_using_the_gpu_is_refused_by_its_name(
    name: str, tmp_path: Path, models: Path, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_GIVES_BACK", 0.3)
    make, changes, fault = TWINS[name]
    report = smoked(tmp_path, models, card, make(builder.cpu_server(), card, **changes))  # type: ignore[arg-type]
    assert report.status is ExitStatus.REFUSED
    assert [found for _, found in faults(report)] == [fault]
    if fault is Fault.LEAVES_GPU_MEMORY:
        assert report.cases[0].measured.memory is not None
        assert report.cases[0].measured.memory.left == 100 << 20


def test_a_build_for_the_cpu_is_refused_before_and_without_the_word_for_the_device(
    tmp_path: Path, models: Path, card: Card
) -> None:
    script = f'#!/bin/sh\nexec {builder.cpu_server()} "$@"\n'
    report = smoked(tmp_path, models, card, script)
    assert faults(report) == {(CheckId.READY, Fault.DIES_AT_LOAD)}
    silent = replace(default_settings(tmp_path / "bundle"), device_arguments={"cuda": ("-ngl", "99")})
    report = smoked(tmp_path, models, card, script, silent)
    assert faults(report) == {(CheckId.GPU_STATED, Fault.GPU_NOT_STATED)}
    made = {check.id: check.status for check in report.checks}
    assert made[CheckId.LOG_PROBABILITIES] is Status.PASS, "the answer alone proves nothing"
    assert made[CheckId.GPU_MEMORY] is Status.SKIPPED


def test_a_card_that_cannot_be_watched_does_not_judge_the_product(tmp_path: Path, models: Path, card: Card) -> None:
    card.tell("fail nvmlDeviceGetMemoryInfo 15")
    report = smoked(tmp_path, models, card, pretending(builder.cpu_server(), card))
    assert faults(report) == {(CheckId.START, Fault.INFRASTRUCTURE)}
    assert report.status is ExitStatus.INFRASTRUCTURE


# budgets


@pytest.mark.parametrize(
    ("budgets", "fault"),
    [
        (SmokeBudgets(ready=0.01), Fault.READY_OVER_BUDGET),
        (SmokeBudgets(first_token=1e-6), Fault.FIRST_TOKEN_OVER_BUDGET),
        (SmokeBudgets(ready=60, first_token=60, warm_token=1e-6), Fault.WARM_TOKEN_OVER_BUDGET),
        (SmokeBudgets(ready=60, first_token=60, warm_token=60), None),
    ],
)
def test_each_budget_has_its_own_name(
    budgets: SmokeBudgets, fault: Fault | None, tmp_path: Path, models: Path, bundle: Path
) -> None:
    settings = replace(default_settings(bundle), budgets=budgets)
    report = smoke_bundle(bundle, lambda: "0" * 64, settings, placed(tmp_path, models))
    assert [found for _, found in faults(report)] == ([fault] if fault else [])
    assert report.checks[-1].status is (Status.FAIL if fault else Status.PASS)


def test_memory_left_has_a_budget_too(
    tmp_path: Path, models: Path, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_GIVES_BACK", 0.2)
    script = pretending(builder.cpu_server(), card, leaves=100 << 20)
    settings = SmokeBudgets(gpu_mebibytes_left=128)
    (tmp_path / "bundle" / "bin").mkdir(parents=True)
    (tmp_path / "bundle" / "bin" / "llama-server").touch()
    usual = default_settings(tmp_path / "bundle")
    assert smoked(tmp_path, models, card, script, replace(usual, budgets=settings)).verdict is Verdict.PASS
