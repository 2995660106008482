"""The README's picture: small enough, of a real run, and made again by one command."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.workflow_runs.png import SIGNATURE, size, with_palette
from tests.workflow_runs.screenshot import IMAGE, WIDTH, page

ROOT = Path(__file__).resolve().parents[2]
MOST = 150_000
RED, GREEN = (255, 0, 0), (0, 255, 0)


def piece(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


@pytest.mark.parametrize("filtered", [0, 1, 2, 3, 4])
def test_a_palette_changes_no_pixel(filtered: int) -> None:
    """Two rows: red and green as they are; then, of any filter, differences that say the same again."""
    first = bytes([0, *RED, *GREEN])
    left = bytes(byte - before & 0xFF for byte, before in zip(GREEN, RED, strict=True))
    second = {
        0: bytes([*RED, *GREEN]),
        1: bytes([*RED]) + left,
        2: bytes(6),
        3: bytes([128, 0, 0, (0 - (255 + 0) // 2) & 0xFF, (255 - (0 + 255) // 2) & 0xFF, 0]),
        4: bytes(6),
    }[filtered]
    content = zlib.compress(first + bytes([filtered]) + second)
    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    picture = SIGNATURE + piece(b"IHDR", head) + piece(b"IDAT", content) + piece(b"IEND", b"")
    small = with_palette(picture)
    assert size(small) == (2, 2)
    assert piece(b"PLTE", bytes([*GREEN, *RED])) in small
    assert piece(b"IDAT", zlib.compress(b"\0\1\0" * 2, 9)) in small


def test_only_the_first_refused_lane_is_folded_out() -> None:
    words = ("approved: a", "refused: b", "refused: c")
    lanes = "".join(f"<details><summary>{word}</summary>\n\n* x\n\n</details>\n" for word in words)
    opened = page(lanes).partition("<details open><summary>")[2]
    assert opened.startswith("refused: b")
    assert "<details open>" not in opened


def test_the_picture_in_the_tree_is_small() -> None:
    picture = IMAGE.read_bytes()
    assert len(picture) < MOST
    assert size(picture)[0] == WIDTH


@pytest.mark.network
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium on this machine")
def test_one_command_makes_it_again(tmp_path: Path) -> None:
    out = tmp_path / "again.png"
    subprocess.run([sys.executable, "-m", "tests.workflow_runs.screenshot", "--out", str(out)], cwd=ROOT, check=True)
    assert len(out.read_bytes()) < MOST
    assert size(out.read_bytes())[0] == WIDTH
    assert size(out.read_bytes())[1] > 700
