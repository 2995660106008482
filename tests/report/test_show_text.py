"""``show``: one table that fits a terminal, what blocks the next lower branch, what is missing for whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.audit.shown import Shown, show
from pipeline.inventory import take_inventory
from pipeline.policy import load_policy
from pipeline.report.show_json import show_json
from pipeline.report.show_text import show_text
from tests.rules.forge import Elf, build, container
from tests.rules.saved import save_image

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network
POLICY = load_policy()
NEEDS = {"libc.so.6": ["__isoc23_strtol@GLIBC_2.38"]}


def bundle(folder: Path) -> Path:
    """A libggml-cuda.so as ggml builds it with toolkit 12.8 by default, one of four units with a shorter list."""
    packed = container("12.8", "75 80 86 89 90", "zstd")
    short = container("12.8", "80 ptx:80", "lz4")
    return build(Elf("libggml-cuda.so", [packed] * 3 + [short], undefined=NEEDS), folder)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return show((take_inventory(bundle(tmp_path_factory.mktemp("bundle"))),), POLICY)


def test_the_table_fits_a_terminal(shown: Shown) -> None:
    assert all(len(line) <= 80 for line in show_text(shown, width=80).splitlines())
    assert show_text(shown, width=80).split() == show_text(shown).split()


def test_a_table_of_libraries_goes_on_below_where_a_terminal_ends(tmp_path: Path) -> None:
    name = "libggml-cuda-of-a-backend-with-a-very-long-name"
    for index, archs in enumerate(("60 70 80 ptx:80", "80 86 90")):
        build(Elf(f"{name}{index}.so", [container("12.0", archs, "lz4")]), tmp_path)
    found = show((take_inventory(tmp_path),), POLICY)
    head, first, second = "on the newest driver", [], []
    for width in (0, 80):
        lines = show_text(found, width=width).splitlines()
        assert not width or all(len(line) <= width for line in lines)
        first.append([word for line in lines if line.startswith(head) for word in line.removeprefix(head).split()])
        second.append([word for line in lines if line.startswith(f"{name}1") for word in line.split()[1:]])
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert len(first[0]) > (80 - len(name)) // 4, "or nothing had to go on below"


def test_a_column_stands_for_every_branch_up_to_the_next(shown: Shown) -> None:
    lines = show_text(shown).splitlines()
    head = next(line for line in lines if line.startswith("SM "))
    assert head.split()[1:-2] == ["450", "455", "520", "550", "570"]
    assert next(line for line in lines if line.startswith("sm_80")).split() == [
        "sm_80", "-", "-", "-", "C", "C", "550.54.14",
    ]  # fmt: skip
    assert next(line for line in lines if line.startswith("sm_90")).split() == ["sm_90", "-", "-", "J", "570.86.10"]


def test_what_blocks_the_next_lower_branch(shown: Shown) -> None:
    text = show_text(shown)
    assert "below 550.54.14 (sm_80, sm_86, sm_89): fatbin-codec: Zstandard-compressed cubin for sm_80" in text
    assert "below 570.86.10 (sm_90): ptx-isa: PTX 8.7 for compute_80 needs driver >= 570.86.10" in text


def test_a_gpu_that_most_of_it_serves_is_told_apart(shown: Shown) -> None:
    text = show_text(shown)
    assert "sm_75: 1 of 4 fatbins load on no driver: arch-missing: sm_80, compute_80: nothing that sm_75" in text
    assert "sm_75" not in text.partition("not served by any driver:")[2].splitlines()[0]


def test_the_host_side_and_the_json(shown: Shown) -> None:
    assert "host files need GLIBC_2.38\n" in show_text(shown)
    found = json.loads(show_json(shown))
    assert found["host"] == {"GLIBC": "2.38"}
    row = next(gpu for gpu in found["gpus"] if gpu["sm"] == "75")
    assert row["containers"] == {"total": 4, "loading": 3}
    assert len(row["cells"]) == len(found["branches"])


def test_an_image_shows_what_its_layers_make(tmp_path: Path) -> None:
    bundle(tmp_path / "layer" / "app")
    build(Elf("libc.so.6"), tmp_path / "layer" / "lib")
    image = save_image([tmp_path / "layer"], tmp_path / "image.tar", {})
    text = show_text(show((take_inventory(image),), POLICY))
    assert "below 550.54.14" in text
    assert "host files need" not in text


def test_without_device_code_it_says_so(tmp_path: Path) -> None:
    inventory = take_inventory(build(Elf("libk.so", undefined=NEEDS), tmp_path))
    assert show_text(show((inventory,), POLICY)) == "no device code\nhost files need GLIBC_2.38\n"
