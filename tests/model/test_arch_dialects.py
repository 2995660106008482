"""Architecture lists of torch and nvcc mean what those tools make of them."""

from __future__ import annotations

import pytest

from pipeline.model.arch_dialects import looks_like_gencode, looks_like_torch, parse_gencode, parse_torch_archs


@pytest.mark.parametrize(
    ("text", "archs"),
    [
        ("8.0;9.0a;12.0+PTX", ["sm_80", "sm_90a", "sm_120", "compute_120"]),
        ("7.5 8.0 9.0a 12.0f", ["sm_75", "sm_80", "sm_90a", "sm_120f"]),
        ("Ampere", ["sm_80", "sm_86", "compute_86"]),
        ("8.0 8.0", ["sm_80"]),
        (" 8.6+PTX ;", ["sm_86", "compute_86"]),
    ],
)
def test_torch(text: str, archs: list[str]) -> None:
    assert sorted(map(str, parse_torch_archs(text))) == sorted(archs)
    assert looks_like_torch(text)


@pytest.mark.parametrize("text", ["", "80", "8.0a+ptx", "8.0,9.0", "Fermi2", "8.0-real"])
def test_not_torch(text: str) -> None:
    with pytest.raises(ValueError, match=r"empty|not an architecture"):
        parse_torch_archs(text)


@pytest.mark.parametrize(
    ("text", "archs"),
    [
        ("-gencode arch=compute_80,code=sm_80", ["sm_80"]),
        ("-gencode=arch=compute_90,code=[sm_90,compute_90]", ["sm_90", "compute_90"]),
        (
            "-gencode arch=compute_80,code=sm_80 --generate-code arch=compute_90a,code=sm_90a",
            ["sm_80", "sm_90a"],
        ),
        ('-gencode "arch=compute_120f,code=sm_120f"', ["sm_120f"]),
    ],
)
def test_gencode(text: str, archs: list[str]) -> None:
    assert sorted(map(str, parse_gencode(text))) == sorted(archs)
    assert looks_like_gencode(text)
    assert not looks_like_torch(text)


@pytest.mark.parametrize(
    "text", ["", "-arch=sm_80", "-gencode arch=sm_80,code=sm_80", "-gencode arch=compute_80,code=80"]
)
def test_not_gencode(text: str) -> None:
    with pytest.raises(ValueError, match=r"empty|form|neither"):
        parse_gencode(text)
