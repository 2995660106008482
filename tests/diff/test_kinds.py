"""Two folders, two wheels and two images of the same release: the same losses, and nothing else."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from pipeline.diff import compare
from pipeline.inventory import take_inventory
from pipeline.model.finding import Severity, Status
from pipeline.policy import load_policy
from tests.rules.forge import Elf, build, container
from tests.rules.saved import save_image

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.diff import Difference

pytestmark = pytest.mark.network
POLICY = load_policy()


def tree(root: Path, archs: str, version: str) -> Path:
    """A package with two libraries of one name, as backends have, and a versioned one."""
    for backend in ("cuda", "cpu"):
        code = [container("12.8", archs)] if backend == "cuda" else []
        build(Elf("libbackend.so", code), root / "pkg" / backend)
    build(Elf(f"libbase.so.{version}", soname="libbase.so.1"), root / "pkg")
    return root


def as_folder(root: Path, _version: str) -> Path:
    return root


def as_wheel(root: Path, version: str) -> Path:
    path = root.parent / f"pkg-{version}-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(root.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(root))
        archive.writestr(f"pkg-{version}.dist-info/METADATA", "Metadata-Version: 2.1\nName: pkg\n")
    return path


def as_image(root: Path, version: str) -> Path:
    """The base is one layer of both releases, what changes is another with another digest."""
    base = root.parent / "base"
    if not base.exists():
        build(Elf("libdistribution.so.1"), base / "usr" / "lib")
    (root / "VERSION").write_text(version)
    return save_image([base, root], root.parent / f"image-{version}.tar", {})


KINDS = [as_folder, as_wheel, as_image]


def compared(folder: Path, make: Callable[[Path, str], Path], archs: str) -> Difference:
    old = make(tree(folder / "old", "75 80", "1.2.3"), "1.0")
    new = make(tree(folder / "new", archs, "1.3.0"), "1.1")
    return compare(take_inventory(old), take_inventory(new), POLICY)


@pytest.mark.parametrize("make", KINDS)
def test_what_lost_nothing(tmp_path: Path, make: Callable[[Path, str], Path]) -> None:
    found = compared(tmp_path, make, "75 80")
    assert found.status == 0
    assert [finding for finding in found.findings if finding.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("make", KINDS)
def test_what_lost_an_architecture(tmp_path: Path, make: Callable[[Path, str], Path]) -> None:
    found = compared(tmp_path, make, "80")
    assert found.status == 1
    assert [item.rule for item in found.outcomes if item.status is Status.FAIL] == ["arch-lost"]
    assert any("pkg/cuda/libbackend.so" in finding.path for finding in found.findings)
