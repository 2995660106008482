"""What a PATH argument names: a file or folder, or with ``docker://`` an image of the engine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.inventory.source import Source

_SCHEME = "docker://"
HELP = "file, archive, wheel, image archive or folder, or docker://IMAGE"


def artifact(text: str) -> Path | Source:
    """For ``argparse``; whether it exists is asked when it is read."""
    if not text.startswith(_SCHEME):
        return Path(text)
    reference = text.removeprefix(_SCHEME)
    if not reference or not reference.isprintable() or reference != reference.strip():
        raise argparse.ArgumentTypeError("docker:// needs the name of an image")
    from pipeline.engine.saved_image import SavedImage  # a file needs no engine

    return SavedImage(reference)
