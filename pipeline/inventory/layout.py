"""OCI layouts as directories, and which machine images are read for."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pipeline.binary import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.inventory.visitor import Visitor
    from pipeline.model.paths import MemberPath

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def image_platform(machine: str = "") -> str:
    """``linux/amd64`` for ``x86_64``; that of this machine where none is named."""
    machine = machine or os.uname().machine
    return f"linux/{_MACHINES.get(machine, machine)}"


def read_layout(walk: Visitor, folder: Path, files: frozenset[str], path: MemberPath) -> None:
    """Read the images of a layout, whose regular files are given; damage is noted, never raised."""
    from pipeline.inventory.digester import Digester  # few artifacts are images
    from pipeline.inventory.image import read_images
    from pipeline.inventory.store import FolderStore

    digester = Digester()
    with ExitStack() as stack:
        try:
            read_images(FolderStore(walk, folder, files, digester, stack), path, walk.ledger)
        except FormatError as error:
            walk.ledger.damage(path, error.message)
        finally:
            digester.close()  # before the files are, whose digests are being taken
