"""Where Dockerfiles and templates lie: in a clone at its top, in an installed wheel inside the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InfrastructureError


@dataclass(frozen=True, slots=True)
class Resources:
    """Folders to look in: ``dockerfiles`` in this order, ``templates`` below which each kind has its own folder."""

    dockerfiles: tuple[Path, ...]
    templates: Path


def find_resources(*, beside: Path | None = None) -> Resources:
    """The shipped folders; a ``dockerfiles`` folder ``beside`` a matrix file goes before them.

    ``InfrastructureError`` when this installation has none.
    """
    package = Path(__file__).resolve().parent
    for root in (package / "_shipped", package.parent):
        if (root / "dockerfiles").is_dir() and (root / "templates").is_dir():
            own = beside / "dockerfiles" if beside else None
            before = (own,) if own and own.is_dir() and not own.samefile(root / "dockerfiles") else ()
            return Resources((*before, root / "dockerfiles"), root / "templates")
    raise InfrastructureError(
        "this installation lacks its dockerfiles and templates", remedy="install cubingate again from a complete wheel"
    )
