"""Whose fault a failed build is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.build.diagnosis import CompilerFailed, decisive_line, diagnose
from pipeline.engine.buildkit import BuildStepFailed
from pipeline.errors import ExitStatus, InfrastructureError, Refused
from tests.build.lanes import cuda_source_lane

LANE = cuda_source_lane(Path())
LOG = Path("build.log")
WRONG = "cubingate: declared toolkit 12.8.1, observed nvcc 12.4.131"


@pytest.mark.parametrize(
    ("stage", "code", "tail", "kind", "words"),
    [
        ("compile", 1, "a.cu(3): error: no such thing\nninja: build stopped", CompilerFailed, "error: no such thing"),
        ("collect", 1, "cp: cannot stat '/build/x'", CompilerFailed, "cannot stat"),
        ("tools", 100, "E: Unable to locate package x", InfrastructureError, "could not be set up: E: Unable"),
        ("toolkit", 1, "ERROR: No matching distribution", InfrastructureError, "No matching distribution"),
        ("toolkit", 65, WRONG, Refused, "declared toolkit 12.8.1, observed nvcc 12.4.131 in the container"),
        ("toolkit", 65, WRONG.removesuffix("12.4.131"), Refused, "observed nvcc none"),
        ("compile", 137, "Killed", InfrastructureError, "want of memory"),
        ("compile", 1, "fatal error: writing: No space left on device", InfrastructureError, "the disk is full"),
        ("", None, "", InfrastructureError, "the engine's words"),
    ],
)
def test_blame(stage: str, code: int | None, tail: str, kind: type[Exception], words: str) -> None:
    failure = BuildStepFailed("the engine's words", stage=stage, exit_code=code, tail=tail)
    error = diagnose(LANE, failure, LOG)
    assert type(error) is kind
    assert error.status is (ExitStatus.REFUSED if issubclass(kind, Refused) else ExitStatus.INFRASTRUCTURE)
    assert words in error.message
    assert error.message.startswith(f"{LANE.id}: ")
    assert error.remedy


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        ("FAILED: a.o\na.c:1: error: x\n", "a.c:1: error: x"),
        ("-- ok\nCMake Error at CMakeLists.txt:3\nmore", "CMake Error at CMakeLists.txt:3"),
        ("-- Looking for errno.h\n-- done", "-- done"),
        ("", ""),
    ],
)
def test_the_decisive_line(tail: str, line: str) -> None:
    assert decisive_line(tail) == line
