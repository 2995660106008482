from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.matrix.load import load_plan
from pipeline.matrix.mistakes import MatrixMistakes
from pipeline.matrix.presets import PRESETS
from tests.matrix.files import CPU, CUDA, HEAD

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.lane import SmokeSettings


def served(folder: Path, settings: str, lane: str = CUDA) -> SmokeSettings:
    head = HEAD.replace('  server: {command: [bin/server, "{model}", "{port}"]}', f"  server: {{{settings}}}")
    (folder / "matrix.yaml").write_text(f"{head}matrix:\n  include:\n    - {lane}\n")
    return load_plan(folder / "matrix.yaml").lanes[0].smoke


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_enough(tmp_path: Path, name: str) -> None:
    smoke = served(tmp_path, f"preset: {name}")
    assert smoke.command == PRESETS[name].command
    assert smoke.readiness == PRESETS[name].readiness
    assert smoke.ready_timeout == PRESETS[name].ready_timeout
    assert "{model}" in smoke.command


def test_what_the_file_says_goes_before_the_preset(tmp_path: Path) -> None:
    smoke = served(
        tmp_path,
        "preset: vllm, arguments: [--enforce-eager], readiness: [/v1/models], ready_timeout: 30",
    )
    assert smoke.command[-1] == "--enforce-eager"
    assert smoke.command[:-1] == PRESETS["vllm"].command
    assert smoke.readiness == ("/v1/models",)
    assert smoke.ready_timeout == 30


def test_a_command_of_ones_own_keeps_readiness_and_patience_of_the_preset(tmp_path: Path) -> None:
    smoke = served(tmp_path, 'preset: mlc-llm, command: [bin/serve, "{model}", "{port}"]', CPU)
    assert smoke.command == ("bin/serve", "{model}", "{port}")
    assert smoke.readiness == ("/v1/models",)
    assert smoke.device_arguments == {}


def test_without_preset_health_is_asked_first(tmp_path: Path) -> None:
    assert served(tmp_path, 'command: [bin/serve, "{model}", "{port}"]').readiness == ("/health", "/v1/models")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("ready_timeout: 30", "neither 'command' nor 'preset'"),
        ("preset: ollama", "'ollama' is not one of"),
        ("preset: vllm, readiness: [health]", "is not a path on the server"),
    ],
)
def test_mistakes(tmp_path: Path, settings: str, said: str) -> None:
    with pytest.raises(MatrixMistakes) as wrong:
        served(tmp_path, settings)
    assert said in str(wrong.value)
