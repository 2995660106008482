"""Hostile images through the command itself: the contract's status, one clear line, bounded, and nothing is written."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.formats.artifacts import gz, tar_of
from tests.inventory.images import (
    CONFIG_TYPE,
    FOREIGN_TYPE,
    Layout,
    Member,
    config,
    digest,
    hardlink,
    layer,
    oci,
    saved,
    symlink,
)
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.network
ROOT = Path(__file__).resolve().parents[2]
MOST_MEMORY, MOST_SECONDS = 300, 60
"""MiB and seconds; shared machines are slow, a run away is far beyond both."""


LAUNCHER = """
import os, sys
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process between: what ``wait4`` says of a child's memory begins with that of the process that started it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did, with what it took."""

    status: int
    out: str
    err: str
    mebibytes: float
    seconds: float


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build(Elf("libk.so", [container("12.8", "80")]), tmp_path_factory.mktemp("library")).read_bytes()


def many_files(library: bytes) -> dict[str, bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for index in range(100_000):
            row = tarfile.TarInfo(f"usr/share/{index % 300}/{index}")
            row.size = 5
            archive.addfile(row, io.BytesIO(b"words"))
    return saved(buffer.getvalue(), layer(Member("app/libk.so", library)))


def twenty_platforms(library: bytes) -> dict[str, bytes]:
    layout = Layout()
    for machine in ("amd64", "arm64", *(f"m{number}" for number in range(18))):
        content = layer(Member("app/libk.so", library if machine == "amd64" else b""))
        row = layout.image([content], platform=f"linux/{machine}")
        layout.listed.append({**row, "platform": {"os": "linux", "architecture": machine}})
    return layout.parts()


def foreign(library: bytes) -> dict[str, bytes]:
    layout = Layout()
    ours, theirs = layer(Member("app/libk.so", library)), gz(layer(Member("base")))
    rows = [layout.blob(ours, "x"), {**Layout().blob(theirs, FOREIGN_TYPE), "urls": ["https://example.com/l"]}]
    made = layout.blob(config([digest(ours), "sha256:" + "0" * 64]), CONFIG_TYPE)
    layout.listed.append(layout.manifest(made, rows))
    return layout.parts()


def without_a_blob(library: bytes) -> dict[str, bytes]:
    content = layer(Member("app/libk.so", library))
    files = oci(content)
    del files[f"blobs/{digest(content).replace(':', '/')}"]
    return files


def with_a_wrong_digest(library: bytes) -> dict[str, bytes]:
    content = layer(Member("app/libk.so", library))
    files = oci(content)
    files[f"blobs/{digest(content).replace(':', '/')}"] = layer(Member("app/libk.so", library), Member("more"))
    return files


def with_a_bomb(library: bytes) -> dict[str, bytes]:
    content = layer(Member("app/libk.so", library), Member("zeros", bytes(1 << 28)))
    return oci(content, packed=[gz(content)])


SCENES: dict[str, tuple[Callable[[bytes], dict[str, bytes]], int, str]] = {
    "device nodes": (
        lambda it: saved(
            layer(
                Member("dev/sda", kind=tarfile.BLKTYPE),
                Member("dev/null", kind=tarfile.CHRTYPE),
                Member("pipe", kind=tarfile.FIFOTYPE),
                Member("app/libk.so", it),
            )
        ),
        0,
        "PASS",
    ),
    "a device in place of a library": (
        lambda it: saved(layer(Member("app/libk.so", it)), layer(Member("app/libk.so", kind=tarfile.CHRTYPE))),
        3,
        "neither ELF nor device code",
    ),
    "a hard link out of the tree": (
        lambda it: saved(layer(Member("app/libk.so", it), hardlink("app/l", "../../../../etc/passwd"))),
        5,
        "a member name that leads out",
    ),
    "a link out of the tree": (
        lambda it: saved(layer(Member("app/libk.so", it), symlink("app/l", "../../../../etc/passwd"))),
        0,
        "PASS",
    ),
    "a member through a link": (
        lambda it: saved(layer(symlink("app", "/srv"), Member("app/libk.so", it))),
        5,
        "below a file or link of the same layer",
    ),
    "a whiteout of the folder above": (
        lambda it: saved(layer(Member("app/libk.so", it), Member("app/.wh..."))),
        5,
        "a whiteout of a folder from inside it",
    ),
    "a whiteout that leads out": (
        lambda it: saved(layer(Member("app/libk.so", it), Member("../.wh.etc"))),
        5,
        "a member name that leads out",
    ),
    "a whiteout of what is judged": (
        lambda it: saved(layer(Member("app/libk.so", it)), layer(Member("app/.wh.libk.so"), Member("app/README"))),
        3,
        "neither ELF nor device code",
    ),
    "a file that its layer deletes": (
        lambda it: saved(layer(Member("app/libk.so", it), Member("app/.wh.libk.so"))),
        5,
        "both deletes and holds it",
    ),
    "100,000 small files": (many_files, 0, "PASS"),
    "twenty platforms": (twenty_platforms, 0, "not judged: image for linux/arm64"),
    "a foreign layer": (foreign, 5, "a foreign layer, whose content is not in the image"),
    "a missing blob": (without_a_blob, 5, "that is not in the image"),
    "a wrong digest": (with_a_wrong_digest, 5, "with the digest"),
    "a bomb": (with_a_bomb, 5, "bomb"),
}


def ran(sandbox: Path, *arguments: str | Path) -> Ran:
    """The command with a home, a temporary folder and a working folder of its own."""
    folders = {name: sandbox / name for name in ("home", "tmp", "work")}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(folders["home"]), "TMPDIR": str(folders["tmp"]), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LAUNCHER, sandbox / "peak", sys.executable, "-m", "pipeline", *arguments]
    started = time.monotonic()
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folders["work"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    written = [path for folder in folders.values() for path in folder.rglob("*")]
    assert written == []
    return Ran(done.returncode, done.stdout, done.stderr, int((sandbox / "peak").read_text()) / 1024, seconds)


@pytest.mark.parametrize("scene", SCENES)
def test_a_hostile_image(tmp_path: Path, library: bytes, scene: str) -> None:
    make, status, words = SCENES[scene]
    archive = tmp_path / "image.tar"
    archive.write_bytes(tar_of(make(library)))
    before = (archive.stat().st_mtime_ns, archive.stat().st_size)
    found = ran(tmp_path, "audit", archive, "--target", "80@535")
    assert (found.status, "Traceback" in found.err) == (status, False), found.out + found.err
    assert words in found.out + found.err
    assert found.err.count("\n") <= 1
    assert found.mebibytes < MOST_MEMORY
    assert found.seconds < MOST_SECONDS
    assert (archive.stat().st_mtime_ns, archive.stat().st_size) == before


@pytest.mark.parametrize("scene", ["a hard link out of the tree", "a foreign layer", "a wrong digest"])
def test_every_command_that_reads_images_says_so(tmp_path: Path, library: bytes, scene: str) -> None:
    archive, healthy = tmp_path / "image.tar", tmp_path / "healthy.tar"
    archive.write_bytes(tar_of(SCENES[scene][0](library)))
    healthy.write_bytes(tar_of(saved(layer(Member("app/libk.so", library)))))
    for arguments in (
        ("show", archive),
        ("diff", healthy, archive),
        ("audit", archive, "--kernels", "--target", "80@535"),
    ):
        assert ran(tmp_path, *arguments).status == 5
    found = json.loads(ran(tmp_path, "audit", archive, "--target", "80@535", "--format", "json").out)
    assert found["targets"][0]["verdict"] == "fail"
    assert "corrupt-input" in found["targets"][0]["causes"]
    assert ran(tmp_path, "audit", healthy, "--target", "80@535").status == 0
