"""The generated model on a current llama.cpp, as the wheel xllamacpp brings it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import requests
from gguf import GGUFReader

from pipeline.engine.process import ProcessEngine
from pipeline.machine import this_machine
from pipeline.model.finding import Status, Verdict
from pipeline.serve.bundle import smoke_bundle
from pipeline.serve.cases import CASES, FIRST_PROMPT
from pipeline.serve.diagnose import nothing_named
from pipeline.serve.expectation import expectation, tolerance
from pipeline.serve.generated.recipe import DECOY_TOKEN, KNOWN_TOKEN, recipe
from pipeline.serve.launch import compose_launch, default_settings
from pipeline.serve.model import generated_model
from pipeline.serve.outcome import CheckId, Fault
from pipeline.serve.smoke import Reference, Smoke
from tests import toolchain
from tests.serve.conftest import placed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.network

WHEEL = "xllamacpp==2026.10.11549"
PROMPTS = (
    "",
    "Hello",
    "Answer with one word.",
    "ok no ok no",
    "Жёлтая утка 鴨 🦆",
    "\x00\x01\x7f",
    "a" * 300,
    "What is the capital of France? Think step by step and answer in JSON.",
)


def test_the_wheel_passes_as_it_was_published(tmp_path: Path, models: Path) -> None:
    wheel = toolchain.wheel(WHEEL)
    report = smoke_bundle(wheel, lambda: "0" * 64, None, placed(tmp_path, models))
    assert report.verdict is Verdict.PASS, report.to_json()
    assert report.format == "whl"
    assert report.machine.device == "cpu"


@pytest.mark.slow
def test_the_whole_family_passes_on_a_real_server(tmp_path: Path, models: Path) -> None:
    bundle = toolchain.unpacked(WHEEL)
    report = smoke_bundle(bundle, lambda: "0" * 64, None, placed(tmp_path, models), ("family",))
    assert [case.case for case in report.cases] == [case.name for case in CASES]
    assert report.verdict is Verdict.PASS, [check for check in report.checks if check.status is Status.FAIL]
    nearest = {case.case: case.measured.distance for case in report.cases}
    assert all(distance is not None and distance > 0 for distance in nearest.values()), nearest


@pytest.mark.parametrize("damaged", ["blk.1.ffn_down.weight", "blk.0.attn_k.weight"])
def test_a_real_server_with_other_weights_than_the_reference_is_refused(
    tmp_path: Path, models: Path, damaged: str
) -> None:
    """The right token is not enough: only the log-probabilities tell."""
    case = replace(CASES[0], prompts=(FIRST_PROMPT,))
    assert case.recipe is not None
    model = generated_model(case.recipe, models)
    expectations = [expectation(case.recipe, model.path, model.sha256, FIRST_PROMPT)]
    other = tmp_path / model.path.name
    content = bytearray(model.path.read_bytes())
    (tensor,) = [item for item in GGUFReader(model.path).tensors if item.name == damaged]
    rows = np.frombuffer(content, np.uint8, tensor.n_bytes, tensor.data_offset).reshape(-1, 34)
    rows[len(rows) // 2 :] = rows[len(rows) // 2 - 1 :: -1][: len(rows) - len(rows) // 2]
    other.write_bytes(content)
    launch = compose_launch(
        default_settings(toolchain.unpacked(WHEEL)),
        this_machine(engine="process"),
        bundle=toolchain.unpacked(WHEEL),
        model=other,
        log=tmp_path / "server.log",
    )
    smoke = Smoke(
        ProcessEngine(os.environ),
        launch,
        default_settings(toolchain.unpacked(WHEEL)),
        case,
        model,
        Reference(lambda: expectations, tolerance(case.recipe, ())),
        None,
        nothing_named,
    )
    checks = {check.id: check for check in smoke.run().checks}
    assert checks[CheckId.EXPECTED_TOKEN].status is Status.PASS
    assert checks[CheckId.LOG_PROBABILITIES].fault is Fault.WRONG_DISTRIBUTION


@pytest.fixture(scope="module")
def served(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the generated model."""
    bundle = toolchain.unpacked(WHEEL)
    launch = compose_launch(
        default_settings(bundle),
        this_machine(engine="process"),
        bundle=bundle,
        model=generated_model(recipe("tiny"), models).path,
        log=tmp_path_factory.mktemp("log") / "server.log",
    )
    server = ProcessEngine(os.environ).start(launch)
    try:
        wait(server.base_url)
        yield server.base_url
    finally:
        assert server.stop(10) == ()


def wait(address: str) -> None:
    for _ in range(500):
        try:
            if requests.get(f"{address}/health", timeout=5).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.02)
    raise AssertionError("not ready after 10 s")


def ask(address: str, body: dict[str, Any]) -> Any:
    asked = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 3, **body}
    answer = requests.post(f"{address}/v1/chat/completions", json=asked, timeout=20)
    assert answer.ok, answer.text
    return answer.json()["choices"][0]["logprobs"]["content"][0]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_known_token_leads_by_four_nats_whatever_the_prompt(served: str, prompt: str) -> None:
    said = ask(served, {"messages": [{"role": "user", "content": prompt}]})
    first, second = said["top_logprobs"][:2]
    assert said["token"] == first["token"] == KNOWN_TOKEN
    assert second["token"] == DECOY_TOKEN
    assert first["logprob"] - second["logprob"] > 4


def test_other_roles_and_turns_change_nothing(served: str) -> None:
    turns = [
        {"role": "system", "content": "You answer in Latin."},
        {"role": "user", "content": "Quo vadis?"},
        {"role": "assistant", "content": DECOY_TOKEN},
        {"role": "user", "content": "Again."},
    ]
    assert ask(served, {"messages": turns})["token"] == KNOWN_TOKEN
