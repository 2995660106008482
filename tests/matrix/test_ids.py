from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.matrix.files import CPU, CUDA, lane, lanes, mistakes_with

if TYPE_CHECKING:
    from pathlib import Path

BASE = CUDA.replace("toolkit: 12.8.1, archs: 80-real, ", "")


def ids(folder: Path, matrix: str) -> list[str]:
    return [made.id for made in lanes(folder, f"defaults: {BASE}\nmatrix: {matrix}")]


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        (CUDA, "cuda12.8-sm80"),
        (CUDA.replace("80-real", "90a-real"), "cuda12.8-sm90a"),
        (CUDA.replace("80-real", "80;90-real;120-virtual"), "cuda12.8-sm80-120"),
        (f"{CUDA[:-1]}, platform: aarch64}}", "cuda12.8-sm80-aarch64"),
        (CPU, "prebuilt-cpu"),
        (f"{CPU[:-1]}, id: mine}}", "mine"),
    ],
)
def test_an_id_says_what_the_lane_is(tmp_path: Path, combination: str, expected: str) -> None:
    assert lane(tmp_path, combination).id == expected


def test_labels_are_as_short_as_they_can_be_while_they_differ(tmp_path: Path) -> None:
    assert ids(tmp_path, "{toolkit: ['12.8.0', '12.9.1'], archs: [80-real]}") == ["cuda12.8-sm80", "cuda12.9-sm80"]
    assert ids(tmp_path, "{toolkit: ['12.8.0', '12.8.1'], archs: [80-real]}") == [
        "cuda12.8.0-sm80",
        "cuda12.8.1-sm80",
    ]
    assert ids(tmp_path, "{toolkit: ['12.8'], archs: [80-real;90-real, 80-real;86-real;90-real]}") == [
        "cuda12.8-sm80-90",
        "cuda12.8-sm80-86-90",
    ]
    assert ids(tmp_path, "{toolkit: ['12.8'], archs: [80-real, 80-virtual, '80']}") == [
        "cuda12.8-sm80",
        "cuda12.8-sm80v",
        "cuda12.8-sm80-80v",
    ]


def test_other_axes_with_several_values_are_in_the_id(tmp_path: Path) -> None:
    matrix = "{toolkit: ['12.8'], archs: [80-real], compression: [speed, none], targets: [[a30, 80@550], [a30]]}"
    assert ids(tmp_path, matrix) == [
        "cuda12.8-sm80-speed-a30-80-550",
        "cuda12.8-sm80-speed-a30",
        "cuda12.8-sm80-none-a30-80-550",
        "cuda12.8-sm80-none-a30",
    ]


def test_ids_are_safe_as_file_names(tmp_path: Path) -> None:
    matrix = "{toolkit: ['12.8'], archs: [80-real], runner: [[../../x], [y z]]}"
    assert ids(tmp_path, matrix) == ["cuda12.8-sm80-..-..-x", "cuda12.8-sm80-y-z"]


def test_one_mistake_for_each_repeated_id(tmp_path: Path) -> None:
    (line,) = mistakes_with(tmp_path, f"matrix: {{include: [{CPU}, {CPU}, {CPU}, {CUDA}]}}")
    assert line.startswith("3 lanes would be called 'prebuilt-cpu', the first from line 16; give each an id:")


def test_an_id_that_no_file_system_takes_is_a_mistake(tmp_path: Path) -> None:
    """It names folders, artifacts and jobs: one that is written may have 100 characters, one that is made no more."""
    targets = [", ".join(f"80@535.{minor}.01" for minor in range(100, 100 + count)) for count in (6, 7)]
    few, many = (f"{{toolkit: ['12.8'], archs: [80-real], targets: [[a30], [{each}]]}}" for each in targets)
    assert [len(each) for each in ids(tmp_path, few)] == [17, 97]
    (mistake,) = mistakes_with(tmp_path, f"defaults: {BASE}\nmatrix: {many}")
    assert "a lane id of 111 characters is made" in mistake
