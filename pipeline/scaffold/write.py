"""Write files into a repository: all of them or none, never over one that is there."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_STAGE = ".cubingate-init-"


def write_all(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Write ``files`` (path below ``folder`` → text) and return the paths that were not there yet.

    A file with exactly these bytes may be there already: a run that was killed is finished by the next. Each file
    appears whole, by a link to what was written beside it; after a failure everything made here is taken away again.

    ``UsageError`` for any other file and for a way through a link, ``InfrastructureError`` when nothing can be written.
    """
    _refuse_links(folder, files)
    contents = {name: text.encode("utf-8") for name, text in files.items()}
    if occupied := [name for name, content in contents.items() if _there(folder / name, content) is False]:
        raise UsageError(
            f"already there: {', '.join(occupied)}",
            remedy="nothing was written; move them away, or write the rest by hand",
        )
    missing = {name: content for name, content in contents.items() if _there(folder / name, content) is None}
    for left in folder.glob(f"{_STAGE}*"):  # of a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    try:
        _place(folder, missing)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write in {folder}: {error.strerror}", remedy="nothing was written"
        ) from error
    return list(missing)


def _there(path: Path, content: bytes) -> bool | None:
    """Whether the file is there with this content; ``None`` where nothing is."""
    if not os.path.lexists(path):
        return None
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def _refuse_links(folder: Path, files: Mapping[str, str]) -> None:
    for name in files:
        for place in (folder / name).parents:
            if place == folder:
                break
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                raise UsageError(f"{place} is not a folder of this repository", remedy="nothing was written")


def _place(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all beside their places, then link each into its place: a link, unlike a rename, never replaces."""
    if not contents:
        return
    made: list[Path] = []
    with tempfile.TemporaryDirectory(prefix=_STAGE, dir=folder) as stage:
        staged = []
        for number, (name, content) in enumerate(contents.items()):
            staged.append((Path(stage) / str(number), folder / name))
            staged[-1][0].write_bytes(content)
        try:
            for here, place in staged:
                _make_folders(place.parent, made)
                place.hardlink_to(here)
                made.append(place)
        except BaseException:  # Ctrl-C as well: what is half is taken back before anything else
            _take_back(made)
            raise


def _make_folders(folder: Path, made: list[Path]) -> None:
    for place in reversed([folder, *folder.parents]):
        if not place.exists():
            place.mkdir()
            made.append(place)


def _take_back(made: list[Path]) -> None:
    for place in reversed(made):
        with suppress(OSError):
            if place.is_dir():
                place.rmdir()
            else:
                place.unlink()
