from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import UsageError
from pipeline.machine import InstalledGpu, this_machine
from pipeline.model.lane import SmokeSettings
from pipeline.serve.launch import LAUNCHERS, compose_launch, default_settings, device_words

if TYPE_CHECKING:
    from pipeline.engine.interface import Launch

GPU = InstalledGpu(0, "H200", "GPU-1", 90, "580.65.06")
SETTINGS = SmokeSettings(
    command=("{bundle}/server", "{device}", "-m", "{model}"),
    device_arguments={"cpu": ("-ngl", "0"), "cuda": ("-ngl", "all", "-dev", "CUDA0")},
    environment={"LLAMA_ARG_CTX_SIZE": "256", "CUDA_VISIBLE_DEVICES": "7"},
)


def composed(settings: SmokeSettings, engine: str, gpu: InstalledGpu | None = None) -> Launch:
    machine = this_machine(engine=engine, gpu=gpu)
    return compose_launch(
        settings, machine, bundle=Path("/b"), model=Path("/m"), log=Path("/l"), image="debian", lane="x"
    )


def test_device_words_are_spliced_in_their_place() -> None:
    assert device_words(SETTINGS, "cpu") == ("{bundle}/server", "-ngl", "0", "-m", "{model}")
    assert device_words(SETTINGS, "cuda")[1:5] == ("-ngl", "all", "-dev", "CUDA0")
    assert device_words(replace(SETTINGS, device_arguments={}), "cpu") == ("{bundle}/server", "-m", "{model}")


def test_device_words_without_a_place_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="device"):
        device_words(replace(SETTINGS, command=("{bundle}/server",)), "cuda")


def test_on_the_cpu_every_gpu_is_hidden_and_on_a_gpu_all_others() -> None:
    hidden = composed(SETTINGS, "process")
    assert hidden.environment == {
        "LLAMA_ARG_CTX_SIZE": "256",
        "CUDA_VISIBLE_DEVICES": "",
        "LLAMA_ARG_LOG_VERBOSITY": "4",
        "LLAMA_LOG_VERBOSITY": "4",
    }
    assert hidden.gpus == ()
    seen = composed(SETTINGS, "docker", GPU)
    assert seen.environment["CUDA_VISIBLE_DEVICES"] == "GPU-1"
    assert seen.gpus == ("GPU-1",)
    assert (seen.image, seen.lane) == ("debian", "x")


def test_launchers_are_found_in_the_package_and_not_in_containers() -> None:
    settings = replace(SETTINGS, command=("{python}", "{launchers}/xllamacpp_server.py", "{device}"))
    launch = composed(settings, "process")
    assert Path(launch.command[1]).is_file()
    assert Path(launch.command[1]).parent == LAUNCHERS
    with pytest.raises(UsageError, match="plain process"):
        composed(settings, "docker")


@pytest.mark.parametrize(
    ("files", "program"),
    [
        (["bin/llama-server", "bin/llama-cli"], "{bundle}/bin/llama-server"),
        (["build/out/llama-server", "README"], "{bundle}/build/out/llama-server"),
        (["my-server"], "{bundle}/my-server"),
        (["bin/llama-server", "old/llama-server"], "{bundle}/bin/llama-server"),
        (["xllamacpp/xllamacpp.so", "xllamacpp-1.dist-info/WHEEL"], "{python}"),
    ],
)
def test_the_usual_server_is_found(tmp_path: Path, files: list[str], program: str) -> None:
    lay(tmp_path, files)
    assert default_settings(tmp_path).command[0] == program


@pytest.mark.parametrize("files", [["README", "bin/other"], ["a/llama-server", "b/llama-server"]])
def test_no_server_or_several_need_a_matrix_file(tmp_path: Path, files: list[str]) -> None:
    lay(tmp_path, files)
    with pytest.raises(UsageError, match="which program serves"):
        default_settings(tmp_path)


def lay(folder: Path, files: list[str]) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_bare_program_is_the_bundle_s_own_never_the_host_s() -> None:
    bare = composed(replace(SETTINGS, command=("llama-server", "-m", "{model}"), device_arguments={}), "process")
    assert bare.command[0] == "{bundle}/llama-server"
    assert composed(SETTINGS, "process").command[0] == "{bundle}/server"
