"""The files of a release, staged: the approved bundles byte for byte, what tells of them, ``SHA256SUMS`` over all."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.attest import bill_of_materials, provenance
from pipeline.compat import compatibility
from pipeline.digest import file_sha256
from pipeline.errors import InfrastructureError, UsageError
from pipeline.model.document import document
from pipeline.model.paths import printable
from pipeline.pick.read import read_release
from pipeline.report.compat_markdown import compat_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.gate import Approved

SUMS = "SHA256SUMS"
COMPAT = "compat.json"
COMPATIBILITY = "COMPATIBILITY.md"
PROVENANCE = "provenance.intoto.jsonl"
SBOM = "sbom.cdx.json"
LISTS = frozenset({SUMS, COMPAT, COMPATIBILITY, PROVENANCE, SBOM})
"""What is made beside the bundles."""
_LISTED = frozenset(name.casefold() for name in LISTS)


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file of a release on this disk, and what every copy of it must be."""

    path: Path
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The name under which it is published."""
        return self.path.name


def check_names(names: Sequence[str]) -> None:
    """``UsageError`` for two bundles of one name, or a name that cannot be published.

    Upper and lower case are one: they are on the disks of many who download.
    """
    if len({name.casefold() for name in names}) != len(names):
        raise UsageError(f"two lanes publish the same file name: {', '.join(sorted(names))}")
    for name in names:
        # To sha256sum a "-" is what it is given, and a backslash the beginning of an escape.
        if name.casefold() in _LISTED or name == "-" or "\\" in name or not name.isprintable():
            raise UsageError(f"a bundle cannot be published as {printable(name)}", remedy="rename the source's file")


def stage(folder: Path, approved: Sequence[Approved]) -> tuple[ReleaseFile, ...]:
    """Copy everything into ``folder``, which is new, and read it back.

    ``InfrastructureError`` when a bundle is no longer what the gate approved, ``OSError`` when the disk refuses.
    """
    folder.mkdir()
    copied(folder, approved)
    if approved:
        compat = document("compat", compatibility(approved)) + "\n"
        (folder / COMPAT).write_text(compat, encoding="utf-8")
        # Made of what users will read: a compat.json that `pick` would refuse is not published.
        table = compat_markdown(read_release(compat.encode("utf-8"), COMPAT))
        (folder / COMPATIBILITY).write_text(table, encoding="utf-8")
        (folder / PROVENANCE).write_text(provenance(approved), encoding="utf-8")
        (folder / SBOM).write_text(bill_of_materials(approved), encoding="utf-8")
    listed = [_release_file(path) for path in sorted(folder.iterdir())]
    (folder / SUMS).write_text("".join(f"{file.sha256}  {file.name}\n" for file in listed), encoding="utf-8")
    return (*listed, _release_file(folder / SUMS))


def copied(folder: Path, approved: Sequence[Approved]) -> tuple[ReleaseFile, ...]:
    """Copy the bundles alone into ``folder`` and read them back; errors as for ``stage``."""
    files = []
    for item in approved:
        copy = folder / item.artifact.path.name
        shutil.copyfile(item.artifact.path, copy)
        files.append(_release_file(copy))
        if files[-1].sha256 != item.artifact.sha256:
            raise InfrastructureError(
                f"{item.artifact.path} is no longer what the gate approved", remedy="run the lane again"
            )
    return tuple(files)


def _release_file(path: Path) -> ReleaseFile:
    return ReleaseFile(path, file_sha256(path), path.stat().st_size)
