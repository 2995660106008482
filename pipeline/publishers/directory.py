"""A directory such as ``dist/``: exactly the approved bundles, ``SHA256SUMS`` and ``compat.json``, or nothing new.

Everything is staged beside the destination, read back and compared, and only then renamed into place.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipeline.compat import compatibility
from pipeline.digest import file_sha256
from pipeline.errors import InfrastructureError, UsageError
from pipeline.model.document import document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.gate import Approved

SUMS = "SHA256SUMS"
COMPAT = "compat.json"


def preflight(directory: Path) -> None:
    """``UsageError`` when ``directory`` holds anything that an earlier publication did not put there."""
    if not directory.exists():
        return
    if directory.is_symlink() or not directory.is_dir():
        raise UsageError(f"{directory} is not a directory")
    foreign = sorted(path.name for path in directory.iterdir() if path.name not in _own(directory))
    if foreign:
        raise UsageError(
            f"{directory} holds files that no gate approved: {', '.join(foreign[:3])}",
            remedy="move them away, or publish to another directory",
        )


def publish(directory: Path, approved: Sequence[Approved]) -> None:
    """Replace the content of ``directory`` by these bundles, byte for byte.

    ``UsageError`` for a directory that is not ours or two bundles of one name, ``InfrastructureError`` when the disk
    refuses or a copy does not read back as approved; the destination is then as it was.
    """
    preflight(directory)
    names = [item.artifact.path.name for item in approved]
    if len(set(names)) != len(names):
        raise UsageError(f"two lanes publish the same file name: {', '.join(sorted(names))}")
    staging = directory.with_name(f".{directory.name}.staging")
    try:
        _stage(staging, approved)
        _swap(staging, directory)
    except OSError as error:
        raise InfrastructureError(f"cannot publish to {directory}: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _own(directory: Path) -> set[str]:
    """The names that the last publication listed; empty when there was none."""
    sums = directory / SUMS
    if not sums.is_file():
        return set()
    listed = {line.partition("  ")[2] for line in sums.read_text(encoding="utf-8").splitlines()}
    return listed | {SUMS}


def _stage(staging: Path, approved: Sequence[Approved]) -> None:
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    for item in approved:
        copy = staging / item.artifact.path.name
        shutil.copyfile(item.artifact.path, copy)
        if file_sha256(copy) != item.artifact.sha256:
            raise InfrastructureError(
                f"{item.artifact.path} is no longer what the gate approved", remedy="run the lane again"
            )
    if approved:
        (staging / COMPAT).write_text(document("compat", compatibility(approved)) + "\n", encoding="utf-8")
    sums = [f"{file_sha256(path)}  {path.name}\n" for path in sorted(staging.iterdir())]
    (staging / SUMS).write_text("".join(sums), encoding="utf-8")


def _swap(staging: Path, directory: Path) -> None:
    previous = directory.with_name(f".{directory.name}.previous")
    shutil.rmtree(previous, ignore_errors=True)
    if directory.exists():
        directory.rename(previous)
    try:
        staging.rename(directory)
    except OSError:
        if previous.exists():
            previous.rename(directory)
        raise
    shutil.rmtree(previous, ignore_errors=True)
