"""What an artifact's own metadata says that others bring; damaged metadata is never more than silent here."""

from __future__ import annotations

import random
import zipfile
from typing import TYPE_CHECKING

import pytest

from pipeline.audit.wheel import requirements_of
from tests.formats.artifacts import zip_of

if TYPE_CHECKING:
    from pathlib import Path

METADATA = (
    "Metadata-Version: 2.1\nName: k\nRequires-Dist: nvidia-cuda-runtime-cu12>=12.4\nRequires-Dist: Torch (==2.8)\n"
)


def wheel(folder: Path, method: int, metadata: str = METADATA) -> Path:
    path = folder / "k-1.0-py3-none-any.whl"
    path.write_bytes(zip_of({"k-1.0.dist-info/METADATA": metadata.encode()}, method=method))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_requirements_are_named_as_indexes_name_them(method: int, tmp_path: Path) -> None:
    assert requirements_of(wheel(tmp_path, method)) == ("nvidia-cuda-runtime-cu12", "torch")


def test_other_files_require_nothing(tmp_path: Path) -> None:
    other = tmp_path / "bundle.tar.gz"
    other.write_bytes(b"no wheel")
    assert requirements_of(other) == ()
    assert requirements_of(tmp_path) == ()


@pytest.mark.parametrize("suffix", ["whl", "deb"])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_damage_anywhere_is_for_the_inventory_to_tell(method: int, suffix: str, tmp_path: Path) -> None:
    whole = wheel(tmp_path, method, METADATA * 40).read_bytes()
    damaged = tmp_path / f"damaged.{suffix}"
    chance = random.Random(1)
    for at in range(len(whole)):
        content = bytearray(whole)
        content[at] ^= 1 << chance.randrange(8)
        damaged.write_bytes(content)
        requirements_of(damaged)
    for length in range(0, len(whole), 7):
        damaged.write_bytes(whole[:length])
        requirements_of(damaged)
