"""The audit command as other programs meet it: JSON by the published schema, the contract's exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.rules.forge import Elf, build, container

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "audit.schema.json").read_text())

pytestmark = pytest.mark.network


def audit(*arguments: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "pipeline", "audit", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def document(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    status, out, _ = audit(*arguments, "--format", "json")
    parsed: dict[str, Any] = json.loads(out)
    jsonschema.validate(parsed, SCHEMA)
    return status, parsed


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The failure to get right first: sm_80 is there, packed by Zstandard."""
    packed = container("12.8", "80 90 ptx:90", "zstd")
    return build(Elf("libggml-cuda.so", [packed] * 3), tmp_path_factory.mktemp("library"))


def test_a_failing_target(library: Path) -> None:
    status, found = document(library, "--target", "80@535.288.01")
    target = found["targets"][0]
    assert status == 1
    assert (target["verdict"], target["causes"]) == ("fail", ["fatbin-codec"])
    assert target["errors"] == ["CUDA_ERROR_INVALID_IMAGE"]
    assert target["fatbins"] == {"total": 3, "native": 0, "jit": 0, "by_design": 0, "unloadable": 3}
    assert (target["minimum_driver"], target["minimum_driver_reason"]) == ("550.54.14", "fatbin-codec")
    assert target["jit_forced"]["errors"] == ["CUDA_ERROR_NO_BINARY_FOR_GPU"]
    finding = found["findings"][0]
    assert (finding["rule"], finding["count"], finding["targets"]) == ("fatbin-codec", 3, ["80@535.288.01"])
    assert finding["path"].endswith("libggml-cuda.so!/.nv_fatbin!/0")
    assert finding["declared"] == "driver >= 535.288.01"
    assert finding["observed"] == "Zstandard-compressed cubin for sm_80 needs driver >= 550.54.14"
    assert "GGML_CUDA_COMPRESSION_MODE=speed" in finding["remedy"]


def test_a_passing_target(library: Path) -> None:
    status, found = document(library, "--target", "80@550")
    assert (status, found["targets"][0]["verdict"]) == (0, "pass")
    assert found["examined"] == {"members": 1, "elf": 1, "fatbins": 3, "cubins": 6, "ptx": 3}
    payload = next(outcome for outcome in found["outcomes"] if outcome["rule"] == "payload")
    assert (payload["status"], "payload not examined" in payload["reason"]) == ("skipped", True)


def test_jit_passes(library: Path) -> None:
    _, found = document(library, "--target", "120@570")
    target = found["targets"][0]
    assert target["fatbins"]["jit"] == 3
    assert target["jit_forbidden"] == {"verdict": "fail", "errors": ["CUDA_ERROR_JIT_COMPILATION_DISABLED"]}
    assert target["jit_forced"] == {"verdict": "pass", "errors": []}


def test_unknown_is_refused(library: Path) -> None:
    status, found = document(library, "--target", "80@9999")
    assert (status, found["targets"][0]["verdict"]) == (1, "unknown")
    assert found["policy_date"] in found["findings"][0]["observed"]


def test_nothing_asked_is_shown(library: Path) -> None:
    status, found = document(library)
    assert (status, found["targets"]) == (0, [])


def test_usage(library: Path) -> None:
    assert audit(library, "--target", "80-535")[0] == 2
    assert audit(library, "--host", "musl=1")[0] == 2
    assert audit(library.with_name("absent"))[0] == 2


def test_nothing_to_examine(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("words\n")
    status, found = document(tmp_path, "--target", "80@535")
    assert (status, found["targets"][0]["verdict"]) == (3, "fail")


def test_no_device_code(tmp_path: Path) -> None:
    path = build(Elf("libggml-cuda.so"), tmp_path)
    status, found = document(path, "--target", "80@535")
    assert (status, found["targets"][0]["causes"]) == (1, ["cpu-flavour"])


def test_corrupt_input_still_prints(library: Path, tmp_path: Path) -> None:
    whole = library.read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[: len(whole) * 2 // 3])
    status, found = document(tmp_path / "cut.so", "--target", "80@550")
    assert (status, found["targets"][0]["verdict"]) == (5, "fail")
    assert "corrupt-input" in found["targets"][0]["causes"]
    assert found["targets"][0]["errors"]


def test_the_gravest_of_several_wins(library: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.so").write_bytes(library.read_bytes()[:5000])
    status, found = document(library, tmp_path / "cut.so", "--target", "80@550")
    assert (status, len(found["artifacts"])) == (5, 2)


def test_text_is_short_and_says_it_all(library: Path) -> None:
    status, out, _ = audit(library, "--target", "80@535.288.01", "--target", "80@550")
    lines = out.splitlines()
    assert status == 1
    assert len(lines) < 20
    assert lines[3].startswith("FAIL     80@535.288.01  fatbin-codec; CUDA_ERROR_INVALID_IMAGE; 3 unloadable of 3")
    assert lines[4].startswith("PASS     80@550.54.14   3 native of 3 fatbins")
    assert "error[fatbin-codec] x3 Zstandard-compressed cubin for sm_80 needs driver >= 550.54.14" in lines
    assert "\x1b" not in out


def test_output_goes_to_a_file(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    status, printed, _ = audit(library, "--target", "80@550", "--format", "json", "--output", out)
    assert (status, printed) == (0, "")
    jsonschema.validate(json.loads(out.read_text()), SCHEMA)
