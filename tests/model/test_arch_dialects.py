"""Architecture lists of torch and nvcc mean what those tools make of them."""

from __future__ import annotations

import pytest

from pipeline.model.arch_dialects import Dialect, dialect_of, parse_gencode, parse_torch_archs


@pytest.mark.parametrize(
    ("text", "archs"),
    [
        ("8.0;9.0a;12.0+PTX", ["sm_80", "sm_90a", "sm_120", "compute_120"]),
        ("7.5 8.0 9.0a 12.0f", ["sm_75", "sm_80", "sm_90a", "sm_120f"]),
        ("Ampere", ["sm_80", "sm_86", "compute_86"]),
        ("Ampere+Tegra Hopper", ["sm_87", "sm_90", "compute_90"]),
        ("8.0 8.0", ["sm_80"]),
        (" 8.6+PTX ;", ["sm_86", "compute_86"]),
    ],
)
def test_torch(text: str, archs: list[str]) -> None:
    assert sorted(map(str, parse_torch_archs(text))) == sorted(archs)
    assert dialect_of(text) is Dialect.TORCH


@pytest.mark.parametrize(
    "text", ["", "80", "8.0a+ptx", "8.0,9.0", "Fermi", "8.0-real", "Blackwell+Tegra", "Ampere+PTX"]
)
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
        ("-gencode;arch=compute_80,code=sm_86;-gencode;arch=compute_86,code=compute_86", ["sm_86", "compute_86"]),
        ("-gencode arch=compute_100f,code='[sm_100f, sm_103f]'", ["sm_100f", "sm_103f"]),
    ],
)
def test_gencode(text: str, archs: list[str]) -> None:
    assert sorted(map(str, parse_gencode(text))) == sorted(archs)
    assert dialect_of(text) is Dialect.NVCC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-arch=sm_80",
        "sm_80",
        "-gencode arch=sm_80,code=sm_80",
        "-gencode arch=compute_80,code=80",
        "-gencode arch=compute_80,code=lto_80",
        "-gencode arch=compute_80,code=sm_80 sm_90",
        "arch=compute_80,code=sm_80",
        "-O3 -gencode arch=compute_80,code=sm_80",
        "-gencode arch=compute_90,code=sm_80",
        "-gencode arch=compute_90a,code=sm_100",
        "-gencode arch=compute_100f,code=sm_120f",
        "-gencode arch=compute_80,code=compute_90",
    ],
)
def test_not_gencode(text: str) -> None:
    with pytest.raises(ValueError, match=r"form|neither|nvcc makes no"):
        parse_gencode(text)


@pytest.mark.parametrize("text", ["80-real;90a-virtual;120", "all", "all-major", "native", "80;;90", "80,90", "80x"])
def test_everything_else_is_left_to_cmake(text: str) -> None:
    assert dialect_of(text) is Dialect.CMAKE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("8.0;90-real", "'8.0' is torch's and '90-real' is CMake's"),
        ("80;Hopper", "'80' is CMake's and 'Hopper' is torch's"),
        ("-gencode arch=compute_80,code=sm_80;90", "'-gencode' is nvcc's and '90' is CMake's"),
        ("8.0 sm_90", "'8.0' is torch's and 'sm_90' is nvcc's"),
        ("all;8.0", "'all' is CMake's and '8.0' is torch's"),
    ],
)
def test_a_list_is_in_one_dialect(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        dialect_of(text)
