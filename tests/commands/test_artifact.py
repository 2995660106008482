"""Images on the command line: what was deleted in a later layer neither fails nor passes anything."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.commands.artifact import artifact
from pipeline.engine.saved_image import SavedImage
from tests.formats.artifacts import Library, link, tar_of
from tests.inventory.images import Layout, Member, layer, oci, saved, write_folder
from tests.toolchain import cubin_image, nvfatbin

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "cubingate-test/artifact:command"


def test_what_a_path_names() -> None:
    assert artifact("lib/docker:x") == Path("lib/docker:x")
    assert artifact("docker://a/b:c@sha256:0") == SavedImage("a/b:c@sha256:0")
    for text in ("docker://", "docker:// a", "docker://a\n"):
        with pytest.raises(argparse.ArgumentTypeError):
            artifact(text)


def library(sm: str) -> bytes:
    return link(Library(fatbins=(nvfatbin("13.0", [cubin_image("13.0", "scale", sm)], mode="none"),), soname="libk.so"))


def cubingate(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command where it can write, and see that it did not."""
    (folder / "empty").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments, "--format", "json"],
        cwd=folder / "empty",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder / "empty")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not list((folder / "empty").iterdir())
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.network
@pytest.mark.parametrize("make", [saved, oci])
def test_twins(tmp_path: Path, make: Any) -> None:
    """The image that fails has the wrong library in the end, its healthy twin had it once."""
    wrong, right = Member("opt/libk.so", library("90")), Member("opt/libk.so", library("80"))
    for name, layers, status, verdict in (
        ("violating", [layer(right), layer(wrong)], 1, "fail"),
        ("healthy", [layer(wrong), layer(right)], 0, "pass"),
        ("deleted", [layer(right, Member("opt/old.so", wrong.content)), layer(Member("opt/.wh.old.so"))], 0, "pass"),
    ):
        path = tmp_path / f"{name}.tar"
        path.write_bytes(tar_of(make(*layers)))
        folder = write_folder(tmp_path / name, make(*layers))
        for taken in (path, folder) if make is oci else (path,):
            done, document = cubingate(
                tmp_path, "audit", str(taken), "--target", "80@580.65.06", "--host", "glibc=2.36"
            )
            assert (done, document["targets"][0]["verdict"]) == (status, verdict), name
            findings = [row["path"] for row in document["findings"] if row["rule"] == "arch-missing"]
            assert all(row.startswith(f"{taken}!/sha256:") for row in findings)
            assert bool(findings) is (verdict == "fail")


@pytest.mark.network
def test_images_for_other_platforms_are_named(tmp_path: Path) -> None:
    layout = Layout()
    for machine in ("amd64", "arm64"):
        row = layout.image([layer(Member("opt/libk.so", library("80")))], platform=f"linux/{machine}")
        layout.listed.append({**row, "platform": {"os": "linux", "architecture": machine}})
    path = tmp_path / "image.tar"
    path.write_bytes(tar_of(layout.parts()))
    status, document = cubingate(tmp_path, "audit", str(path), "--target", "80@580.65.06")
    (note,) = document["notes"]
    assert (status, note.startswith(f"{path}: not judged: image for linux/")) == (0, True)


@pytest.mark.network
def test_damaged_images_are_status_5(tmp_path: Path) -> None:
    files = saved(layer(Member("opt/libk.so", library("80"))))
    tar = next(name for name in files if name.endswith("layer.tar"))
    path = tmp_path / "image.tar"
    path.write_bytes(tar_of({**files, tar: layer(Member("opt/libk.so", library("90")))}))
    status, document = cubingate(tmp_path, "audit", str(path), "--target", "80@580.65.06")
    assert status == 5
    assert [row["rule"] for row in document["findings"]].count("corrupt-input") == 1
    assert cubingate(tmp_path, "show", str(path))[0] == 5


@pytest.mark.network
@pytest.mark.docker
def test_an_image_of_the_engine(tmp_path: Path) -> None:
    content = tar_of({"opt/libk.so": library("80")})
    subprocess.run(["docker", "import", "-", IMAGE], input=content, check=True, capture_output=True)
    try:
        status, document = cubingate(tmp_path, "audit", f"docker://{IMAGE}", "--target", "80@580.65.06")
        inspected = ["docker", "image", "inspect", "-f", "{{.Id}}", IMAGE]
        identifier = subprocess.run(inspected, check=True, capture_output=True, text=True).stdout.strip()
        (row,) = document["artifacts"]
        assert (row["path"], row["format"]) == (f"docker://{IMAGE}", "docker-archive")
        assert f"sha256:{row['sha256']}" == identifier
        assert (status, document["targets"][0]["fatbins"]["native"]) == (0, 1)
        assert cubingate(tmp_path, "show", f"docker://{IMAGE}")[0] == 0
        other = tmp_path / "other.tar"
        other.write_bytes(tar_of(saved(layer(Member("opt/libk.so", library("90"))))))
        assert cubingate(tmp_path, "diff", f"docker://{IMAGE}", f"docker://{IMAGE}")[0] == 0
        assert cubingate(tmp_path, "diff", f"docker://{IMAGE}", str(other))[0] == 1
    finally:
        subprocess.run(["docker", "rmi", "-f", IMAGE], check=True, capture_output=True)
