"""Whether the disk holds what a destination copies before it publishes: asked first, not found out half way."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pipeline.errors import InfrastructureError
from pipeline.model.size import size_text

if TYPE_CHECKING:
    from pathlib import Path


@runtime_checkable
class Copying(Protocol):
    """A destination that copies the bundles on this machine before anybody sees them."""

    @property
    def staging(self) -> Path:
        """The folder that the copy is made in; it need not be there yet."""


def check_space(place: object, size: int) -> None:
    """``InfrastructureError`` when fewer than ``size`` bytes are free where ``place`` copies, if it does."""
    if not isinstance(place, Copying):
        return
    folder = place.staging
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
    except OSError as error:
        raise InfrastructureError(f"cannot see how much is free in {folder}: {error.strerror}") from error
    if free < size:
        raise InfrastructureError(
            f"{folder} has {size_text(free)} free, and the bundles need {size_text(size)}", remedy="make room there"
        )
