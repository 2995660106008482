"""Bundles without a compat.json are judged by their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit.run import run_audit
from pipeline.errors import CorruptInput, NothingExamined
from pipeline.model.served import Service
from pipeline.model.target import Platform
from pipeline.model.versions import DriverVersion, GlibcVersion
from pipeline.pick import Host, HostGpu, Need, Release, choose
from pipeline.pick.bundles import audited
from pipeline.policy import load_policy
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundles")
    build(Elf("libold.so", [container("11.8", "80")], undefined={"libc.so.6": ["puts@GLIBC_2.14"]}), place)
    build(Elf("libnew.so", [container("12.8", "80 90 ptx:90")]), place)
    build(Elf("libcpu.so"), place)
    (place / "README").write_text("no bundle")
    return place


def release(folder: Path) -> Release:
    return audited(sorted(folder.iterdir()), str(folder), load_policy())


def host(*targets: str, glibc: str = "2.36") -> Host:
    gpus = tuple(HostGpu(int(sm), DriverVersion(driver)) for sm, _, driver in (text.partition("@") for text in targets))
    return Host(Platform.X86_64, GlibcVersion(glibc), gpus)


@pytest.mark.parametrize(
    ("machine", "file"),
    [
        (host("80@470.256.02"), "libold.so"),
        (host("90@535.288.01"), "libnew.so"),
        (host("120@580.65.06"), "libnew.so"),
        (host(), "libcpu.so"),
        (host("75@580.65.06"), "libcpu.so"),
    ],
)
def test_the_bytes_choose(folder: Path, machine: Host, file: str) -> None:
    picked = choose(release(folder), machine).picked
    assert picked is not None
    assert picked.asset.file == file


def test_a_symbol_of_a_newer_glibc_counts(folder: Path) -> None:
    choice = choose(release(folder), host("80@470.256.02", glibc="2.12"))
    (old,) = [each for each in choice.fits if each.asset.file == "libold.so"]
    assert [obstacle.need for obstacle in old.obstacles] == [Need.GLIBC]


def test_the_audit_of_a_lane_records_every_gpu(folder: Path) -> None:
    policy = load_policy()
    report = run_audit([folder / "libnew.so"], [], policy, every_gpu=True)
    assert report.serves is not None
    rows = {row.sm: (row.service, str(row.minimum_driver)) for row in report.serves.gpus}
    assert len(rows) == len(policy.gpus)
    assert rows[80] == (Service.NATIVE, "525.60.13")
    assert rows[120] == (Service.JIT, "570.86.10")
    assert rows[75] == (Service.NONE, "None")
    assert run_audit([folder / "libnew.so"], [], policy).serves is None


def test_hostile_names_of_bundles_are_escaped(folder: Path, tmp_path: Path) -> None:
    names = ["\x1b[31mred.so", "a\nb.so", "$(id);`id`|x.so", "<img src=x>.so", "\u202egnp.so", "שלום.so"]
    for name in names:
        (tmp_path / name).write_bytes((folder / "libcpu.so").read_bytes())
    files = [asset.file for asset in release(tmp_path).assets]
    assert len(files) == len(names)
    assert all(name.isprintable() for name in files)
    assert {r"\x1b[31mred.so", r"a\nb.so", r"\u202egnp.so", "שלום.so"} < set(files)


def test_damage_and_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingExamined):
        audited([folder / "README"], "here", load_policy())
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b")
    with pytest.raises(CorruptInput):
        audited([cut], "here", load_policy())
