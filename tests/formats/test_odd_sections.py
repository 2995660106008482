"""Device code in sections of odd names and flags is found, in a file and in a stream alike."""

from __future__ import annotations

import subprocess
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.formats.budgets import STANDARD
from pipeline.inventory import take_inventory
from tests.rules.forge import container

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network


def built(section: str, flags: str, kind: str, folder: Path, cut: int = 0) -> Path:
    """A library with one container in that section, the last ``cut`` bytes of it missing."""
    content = container("12.8", "80")
    (folder / "k.fatbin").write_bytes(content[: len(content) - cut])
    source = f'.section {section},"{flags}",@{kind}\n.balign 8\n.incbin "k.fatbin"\n.text\n.fill 64\n'
    (folder / "k.s").write_text(source + '.section .note.GNU-stack,"",@progbits\n')
    command = ["gcc", "-shared", "-nostdlib", "-Wl,--build-id=none", "k.s", "-o", "libk.so"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "libk.so"


def packed(path: Path) -> Path:
    archive = path.with_suffix(".tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(path, path.name)
    return archive


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("section", "flags", "kind"),
    [
        ("device", "ax", "progbits"),
        (".kernels", "awx", "progbits"),
        (".note.kernels", "a", "note"),
        (".note.kernels", "a", "progbits"),
        (".rodata", "a", "progbits"),
    ],
)
def test_a_container_is_found(section: str, flags: str, kind: str, tmp_path: Path, *, streamed: bool) -> None:
    path = built(section, flags, kind, tmp_path)
    budgets = replace(STANDARD, buffered=1 << 10) if streamed else STANDARD
    found = take_inventory(packed(path) if streamed else path, budgets=budgets)
    assert [(item.section, len(item.entries)) for item in found.fatbins] == [(section, 1)]
    assert found.damage == ()


@pytest.mark.parametrize("streamed", [False, True])
def test_one_that_is_cut_off_is_damage(tmp_path: Path, *, streamed: bool) -> None:
    path = built(".rodata", "a", "progbits", tmp_path, cut=1000)
    budgets = replace(STANDARD, buffered=1 << 10) if streamed else STANDARD
    found = take_inventory(packed(path) if streamed else path, budgets=budgets)
    assert not found.fatbins
    assert [item.path.parts[-2] for item in found.damage] == [".rodata"]
    assert "that are left" in found.damage[0].what
