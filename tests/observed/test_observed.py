"""Every row of the tables measured on a real driver is predicted: error name, not only pass or fail."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.policy import Policy, load_policy
from tests.rules.forge import pack
from tests.toolchain import TOOLKITS, Image, cubin, cubin_image, fatbinary, kernel_ptx, nvfatbin, ptx_image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.audit.report import PassVerdict, TargetReport

DATA = Path(__file__).resolve().parent.parent / "data" / "observed"
MACHINE = "90@580.159.04"
SUCCESS = "CUDA_SUCCESS"
SAMPLED_TOOLKITS = ("12.8", "13.0")
Row = dict[str, str]


def rows(name: str) -> list[Row]:
    with (DATA / f"h200-r580-{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def predicted(content: bytes, folder: Path, policy: Policy) -> TargetReport:
    file = folder / "image"
    file.write_bytes(content)
    return run_audit([file], [policy.parse_target(MACHINE)], policy, deep=True).targets[0]


def first_error(answer: TargetReport | PassVerdict) -> str:
    return answer.errors[0] if answer.verdict != "pass" else SUCCESS


# single images


def image_of(row: Row) -> bytes:
    if row["kind"] == "cubin":
        return cubin(row["toolkit"], "saxpy", row["target"].removeprefix("sm_"))
    return kernel_ptx("saxpy", row["ptx_isa"], row["target"]).encode()


def sampled(row: Row) -> bool:
    """PTX needs no tool to rebuild; of the cubins, two toolkits without 13.x's larger wheels beyond one."""
    return row["kind"] == "ptx" or row["toolkit"] in SAMPLED_TOOLKITS


def single_images() -> Iterator[object]:
    for row in rows("single-images"):
        marks = [] if sampled(row) else [pytest.mark.slow]
        marks += [pytest.mark.network] if row["kind"] == "cubin" else []
        yield pytest.param(row, marks=marks, id=f"{row['kind']}-{row['toolkit']}-{row['target']}")


@pytest.mark.parametrize("row", list(single_images()))
def test_single_images(row: Row, tmp_path: Path, policy: Policy) -> None:
    assert first_error(predicted(image_of(row), tmp_path, policy)) == row["load"]


# fatbins

ENTRY = re.compile(r"(cubin|PTX) ((?:(?:sm|compute)_[0-9]+[af]?(?:, )?)+)")
FULL = "cubin sm_80; cubin sm_90; PTX compute_90"


def entries(text: str, toolkit: str) -> list[Image]:
    """``cubin sm_86, sm_89; PTX compute_75 (ISA 9.1)`` → images of that toolkit."""
    made = []
    for kind, archs in ENTRY.findall(text):
        for arch in archs.split(", "):
            name = arch.partition("_")[2]
            made.append(cubin_image(toolkit, "k", name) if kind == "cubin" else ptx_image(toolkit, "k", name))
    assert made
    return made


def fatbin_of(row: Row) -> bytes:
    writer, toolkit = re.findall(r"(nvcc|libnvfatbin) ([0-9.]+)", row["writer"])[0]
    content = entries(row["entries"], toolkit)
    options = row["options"].removeprefix("--")
    if writer == "nvcc":
        # nvcc hands its images to the same packer; --compress-mode means the same to both.
        return nvfatbin(toolkit, content, mode=options.removeprefix("compress-mode="))
    if options == "compress-all":
        return nvfatbin(toolkit, content, everything=True)
    mode = {"(none)": None, "compress=false": "none"}.get(options, options.removeprefix("compress-mode="))
    return nvfatbin(toolkit, content, mode=mode)


def fatbins() -> Iterator[object]:
    for index, row in enumerate(rows("fatbins")):
        quick = any(f" {toolkit}" in row["writer"] for toolkit in SAMPLED_TOOLKITS)
        marks = [pytest.mark.network] if quick else [pytest.mark.network, pytest.mark.slow]
        yield pytest.param(row, marks=marks, id=f"{index}-{row['writer'][:20]}-{row['options']}")


@pytest.mark.parametrize("row", list(fatbins()))
def test_fatbins(row: Row, tmp_path: Path, policy: Policy) -> None:
    assert first_error(predicted(fatbin_of(row), tmp_path, policy)) == row["load"]


# which entry is chosen


def damaged(name: str) -> bytes:
    """The container that the row names, damaged as it says."""
    if name.startswith("bad_zstd"):
        content = bytearray(pack([cubin_image("13.0", "k", "90")], "13.0", "zstd"))
        at = content.index(b"\x28\xb5\x2f\xfd")
        content[at : at + 1] = b"\x00" if name == "bad_zstdmagic" else content[at : at + 1]
        if name == "bad_zstd":
            content[at + 40 : at + 400] = bytes(360)
        return bytes(content)
    content = bytearray(pack([cubin_image("13.0", "k", "90")], "13.0"))
    at = content.index(b"\x7fELF")
    if name == "bad_elfclass":
        content[at + 4] = 9
    elif name == "bad_elfbody":
        content[at + 16 : -64] = b"\xa5" * (len(content) - 64 - at - 16)
    else:
        content[0] ^= 0xFF
    return bytes(content)


def chosen_from(row: Row) -> bytes:
    """Build the container to the row's words."""
    name, text = row["container"], row["entries"]
    if name.startswith("bad_"):
        return damaged(name)
    if name.startswith("concat_"):
        mode = name.removeprefix("concat_")
        return fatbinary(
            "13.5", [cubin_image("13.5", "k", "90"), cubin_image("13.5", "k", "80")], mode=mode, concat=True
        )
    images = []
    for part in text.split("; "):
        found = re.fullmatch(r"(cubin|PTX) (?:sm|compute)_([0-9]+[af]?) \((?:toolkit |ISA )?([0-9.]+)\)", part)
        assert found, part
        kind, arch, version = found.groups()
        if kind == "cubin":
            images.append(cubin_image(version, "k", arch))
        else:
            images.append(Image("ptx", arch, kernel_ptx("k", version, f"sm_{arch}").encode()))
    return pack(images, "13.5")


@pytest.mark.network
@pytest.mark.parametrize("row", rows("selection"), ids=lambda row: row["container"])
def test_selection(row: Row, tmp_path: Path, policy: Policy) -> None:
    answer = predicted(chosen_from(row), tmp_path, policy)
    assert first_error(answer) == row["load"]
    if row["load_jit_forbidden"]:
        assert first_error(answer.jit_forbidden) == row["load_jit_forbidden"]
        assert first_error(answer.jit_forced) == row["load_jit_forced"]


def test_the_tables_are_whole() -> None:
    """The copies are the measured ones: their sizes are known."""
    assert [len(rows(name)) for name in ("single-images", "fatbins", "selection")] == [464, 62, 32]
    assert {row["toolkit"] for row in rows("single-images")} == set(TOOLKITS)
