"""Somebody who can write to the store of artifacts, called by the stand-in for upload-artifact behind each upload.

    python -I meddler.py WHAT ARTIFACT        in the store; ARTIFACT has just been uploaded

It knows how artifacts are sealed, and may write new seals. What it cannot write are the outputs of jobs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

STORE = Path()


def bundle() -> None:
    """Another bundle, under the name of the one that was checked."""
    _append(next(STORE.glob("lane-good/lanes/good/*.tar.gz")))


def resealed_bundle() -> None:
    """Another bundle, and a list of digests that fits it."""
    bundle()
    _seal("lane-good")


def evidence() -> None:
    """A record that says something else than the check did."""
    record = next(STORE.glob("lane-good/evidence/*/smoke@cpu/*.json"))
    record.write_text(record.read_text(encoding="utf-8").replace('"examined": ', '"examined": 1'), encoding="utf-8")


def tool() -> None:
    """A program where later steps keep theirs, in an artifact that is otherwise as it was."""
    place = STORE / "lane-good" / "cache" / "tools" / "ptxas"
    place.parent.mkdir(parents=True)
    place.write_text("#!/bin/sh\n", encoding="utf-8")


def other_commit() -> None:
    """The whole artifact of another commit, with seals of its own that fit."""
    shutil.rmtree("lane-good")
    shutil.copytree(os.environ["STAND_IN_OTHER"], "lane-good")


def lane_gone() -> None:
    """No such artifact any more."""
    shutil.rmtree("lane-good")


def proof_gone() -> None:
    """No evidence of any GPU any more."""
    for place in STORE.glob("prove-*"):
        shutil.rmtree(place)


WHEN = {
    "bundle": ("lane-good", bundle),
    "resealed-bundle": ("lane-good", resealed_bundle),
    "evidence": ("lane-good", evidence),
    "tool": ("lane-good", tool),
    "other-commit": ("lane-good", other_commit),
    "lane-gone": ("lane-good", lane_gone),
    "proof-gone": ("prove-", proof_gone),
    "bundle-after-the-gate": ("gate", resealed_bundle),
}


def _append(file: Path) -> None:
    with file.open("ab") as content:
        content.write(b"\n")


def _seal(artifact: str) -> None:
    root = STORE / artifact
    files = sorted(file.relative_to(root) for room in ("lanes", "evidence") for file in (root / room).rglob("*.*"))
    lines = [f"{hashlib.sha256((root / file).read_bytes()).hexdigest()}  {file}\n" for file in files]
    (root / "seals" / f"{artifact}.sha256").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    _, what, uploaded = sys.argv
    waits_for, meddle = WHEN[what]
    if uploaded.startswith(waits_for):
        print(f"stand-in: somebody meddles with the store: {what}")
        meddle()
