"""``doctor`` tells what is there and what is missing, and missing things are no failure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from pipeline.engine.toolkits import InstalledToolkit, installed_toolkits

if TYPE_CHECKING:
    from pathlib import Path


def _doctor(tmp_path: Path, *arguments: str, path: str = "/none") -> str:
    environment = {**os.environ, "PATH": path, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    command = [sys.executable, "-m", "pipeline", "doctor", "--state", str(tmp_path / "a/b"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def _findings(tmp_path: Path, path: str = "/none") -> dict[str, dict[str, Any]]:
    told = json.loads(_doctor(tmp_path, "--format", "json", path=path))
    assert (told["schema_version"], told["kind"]) == (1, "doctor")
    return {finding["name"]: finding for finding in told["findings"]}


def test_a_bare_machine(tmp_path: Path) -> None:
    findings = _findings(tmp_path)
    assert not findings["engine"]["present"]
    assert "source lanes cannot be built" in findings["engine"]["advice"]
    assert not findings["debootstrap"]["present"]
    assert not findings["GPU"]["present"]
    assert findings["disk state"]["present"]
    assert str(tmp_path) in findings["disk state"]["seen"]


def test_a_broken_driver(tmp_path: Path) -> None:
    tool = tmp_path / "bin/nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 9\n")
    tool.chmod(0o755)
    finding = _findings(tmp_path, path=f"{tool.parent}:/bin")["GPU"]
    assert not finding["present"]
    assert "the driver is not working" in finding["seen"]


def test_the_text_has_a_line_for_each(tmp_path: Path) -> None:
    lines = _doctor(tmp_path).splitlines()
    assert "processors" in lines[0]
    assert any(line.startswith("- engine") for line in lines)
    assert any(line.startswith("+ disk state") for line in lines)


def test_toolkits_are_asked_themselves(tmp_path: Path) -> None:
    for name, script in {"cuda-12.8": "echo release 12.8, V12.8.93", "cuda-13.0": "exit 1"}.items():
        nvcc = tmp_path / name / "bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text(f"#!/bin/sh\n{script}\n")
        nvcc.chmod(0o755)
    (tmp_path / "cuda").symlink_to("cuda-12.8")
    found = [kit for kit in installed_toolkits(tmp_path) if kit.nvcc.is_relative_to(tmp_path)]
    assert found == [
        InstalledToolkit(tmp_path / "cuda/bin/nvcc", "12.8.93"),
        InstalledToolkit(tmp_path / "cuda-13.0/bin/nvcc", ""),
    ]
