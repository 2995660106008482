"""PTX out of containers of every make: packed, nested, equal, lying in archives, contradicting its header."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.digest import file_sha256
from pipeline.model.finding import Status, Verdict
from pipeline.policy import Policy, load_policy
from pipeline.rules.assembly import Ending
from pipeline.stages.rehearse import concluded
from tests.rehearse.assemblers import SETTINGS, audited, only, ptx
from tests.rules.forge import Elf, build, container, pack
from tests.toolchain import Image, fatbinary, ptx_image

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.rules.assembly import TargetRehearsal

pytestmark = pytest.mark.network

LACKING = ptx("tanh.approx.f32 %f1, %f2;", target="sm_60")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def text_image(text: str, arch: str = "60") -> Image:
    return Image("ptx", arch, text.encode())


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("toolkit", ["12.4", "12.8", "13.0"])
def test_packed_texts(toolkit: str, codec: str, tmp_path: Path, policy: Policy) -> None:
    packed = container(toolkit, "ptx:75", codec)
    report = audited(build(Elf("libk.so", [packed]), tmp_path), "86@580", policy)
    assert (only(report).arch, only(report).ending) == ("86", Ending.ACCEPTED)
    assert report.targets[0].verdict is Verdict.PASS


def test_a_text_without_its_version_gets_the_headers(tmp_path: Path, policy: Policy) -> None:
    packed = pack([text_image(ptx(""))], "12.8")
    assert b".version" not in packed
    (tmp_path / "k.fatbin").write_bytes(packed)
    (tmp_path / "k.ptx").write_text(ptx(""))
    texts = [only(audited(tmp_path / name, "61@535", policy)) for name in ("k.fatbin", "k.ptx")]
    assert [text.ending for text in texts] == [Ending.ACCEPTED] * 2
    assert texts[0].sha256 == texts[1].sha256 == file_sha256(tmp_path / "k.ptx"), "it is the text that was packed"


def test_a_text_that_is_newer_than_its_header_says(tmp_path: Path, policy: Policy) -> None:
    """The audit reads headers; the driver, and so a rehearsal, reads the text."""
    packed = pack([text_image(ptx(""))], "12.8")
    old = b"\n.target sm_61\n.address_size 64\n"
    assert old in packed
    (tmp_path / "k.fatbin").write_bytes(packed.replace(old, b".version 9.5\n.target sm_61\n".ljust(len(old))))
    report = audited(tmp_path / "k.fatbin", "61@535", policy)
    assert report.targets[0].causes == ("ptx-isa",)
    assert report.targets[0].errors == ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION",)


def test_a_concatenated_container(tmp_path: Path, policy: Policy) -> None:
    made = fatbinary("13.4", [ptx_image("13.0", "one", "75"), ptx_image("13.0", "two", "90")], concat=True)
    (tmp_path / "k.fatbin").write_bytes(made)
    report = audited(tmp_path / "k.fatbin", "90@620", policy)
    assert [kernel.name for kernel in only(report).kernels] == ["two"], "the driver takes the highest"


def test_equal_texts_are_assembled_once_and_told_for_each(tmp_path: Path, policy: Policy) -> None:
    told: list[tuple[int, int]] = []
    library = build(Elf("libk.so", [pack([text_image(LACKING)], "12.8")] * 3), tmp_path / "lib")
    (tmp_path / "k.ptx").write_text(LACKING)
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(library, "lib/libk.so")
        archive.add(tmp_path / "k.ptx", "k.ptx")
    settings = replace(SETTINGS, amount=lambda done, total: told.append((done, total)))
    report = audited(tmp_path / "b.tar.gz", "61@535 62@535 61@530", policy, settings)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)], "two SMs by one assembler, one of them by another too"
    found = [finding for finding in report.findings if finding.rule == "jit-feature"]
    by_library = {(finding.path.rpartition("!/.")[0] or finding.path, finding.count) for finding in found}
    assert {count for path, count in by_library if "libk.so" in path} >= {3}
    assert [target.verdict for target in report.targets] == [Verdict.FAIL] * 3


def rehearsed(path: Path, target: str, policy: Policy) -> tuple[TargetRehearsal, Status, str]:
    report = audited(path, target, policy)
    outcome, _ = concluded(f"rehearse@{target}", report)
    assert report.rehearsal is not None
    return report.rehearsal.targets[0], outcome.status, outcome.reason or ""


def test_what_machine_code_serves_needs_no_rehearsal(tmp_path: Path, policy: Policy) -> None:
    path = build(Elf("libk.so", [container("12.8", "80 ptx:75")] * 2), tmp_path)
    found, status, reason = rehearsed(path, "80@570", policy)
    assert (found.containers, found.served) == ((), 2)
    assert (status, reason) == (Status.NOT_APPLICABLE, "2 containers are served by machine code, none is compiled")
    found, status, _ = rehearsed(path, "75@570", policy)
    assert (len(found.containers), found.served, status) == (2, 0, Status.PASS)


def test_where_one_container_is_served_and_one_is_compiled(tmp_path: Path, policy: Policy) -> None:
    path = build(Elf("libk.so", [container("12.8", "80"), container("12.8", "ptx:75")]), tmp_path)
    found, status, _ = rehearsed(path, "80@570", policy)
    assert (len(found.containers), found.served, status) == (1, 1, Status.PASS)


@pytest.mark.parametrize("target", ["90@570", "61@570", "80@699", "35@535"])
def test_nothing_served_is_never_a_pass(target: str, tmp_path: Path, policy: Policy) -> None:
    path = build(Elf("libk.so", [container("12.8", "80")]), tmp_path)
    found, status, reason = rehearsed(path, target, policy)
    assert found.containers == ()
    assert status in {Status.FAIL, Status.ERROR}
    assert reason


def test_a_damaged_payload_is_not_read_and_not_passed(tmp_path: Path, policy: Policy) -> None:
    packed = bytearray(container("12.8", "ptx:75", "zstd"))
    packed[-40:] = b"\xff" * 40
    path = build(Elf("libk.so", [bytes(packed)]), tmp_path)
    report = audited(path, "75@570", policy)
    assert (only(report).ending, report.targets[0].verdict) == (Ending.NOT_READ, Verdict.UNKNOWN)


def test_the_longest_text_is_begun_first(tmp_path: Path, policy: Policy) -> None:
    for name, lines in (("a", 10), ("b", 4000), ("c", 100)):
        (tmp_path / f"{name}.ptx").write_text(ptx("fma.rn.f32 %f1, %f1, %f2, %f3;\n" * lines))
    report = audited(tmp_path, "61@535", policy, replace(SETTINGS, workers=1))
    assert report.rehearsal is not None
    sizes = {str(item.container)[-5:]: item.assembly.size for item in report.rehearsal.targets[0].containers}
    assert sorted(sizes, key=lambda name: sizes[name]) == ["a.ptx", "c.ptx", "b.ptx"]
