"""Where printed paths lie: the layers of an image are one container; what is in an archive lies where that does."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.formats.facts import Inventory

MARK = "!/"


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A file or folder: the container, as printed, in which files lie beside each other, and its path there."""

    container: str
    path: str

    @property
    def folder(self) -> Spot:
        """The folder around it."""
        return Spot(self.container, posixpath.dirname(self.path))

    @property
    def name(self) -> str:
        """Its last part."""
        return posixpath.basename(self.path)

    def __str__(self) -> str:
        return f"{self.container}{MARK}{self.path}" if self.path else self.container


class Spots:
    """Finds the container of every printed path of an inventory, once it knows which containers count."""

    def __init__(self, inventory: Inventory) -> None:
        self._layers = tuple(
            (f"{image.path}{MARK}{printable(layer)}{MARK}", f"{image.path}{MARK}")
            for image in inventory.images
            for layer in image.layers
        )
        self.images = frozenset(str(image.path) for image in inventory.images)
        self.containers: set[str] = {inventory.root, *self.images}

    def own(self, text: str) -> Spot:
        """The file itself, in the container that is nearest around it."""
        container, _, path = self._merged(text).rpartition(MARK)
        return Spot(container, path)

    def of(self, text: str) -> Spot:
        """The file of a container that counts: of what lies inside an archive, the archive."""
        parts = self._merged(text).split(MARK)
        for place in range(len(parts) - 1, 0, -1):
            container = MARK.join(parts[:place])
            if container in self.containers:
                return Spot(container, parts[place])
        return Spot("", parts[0])

    def _merged(self, text: str) -> str:
        for layer, image in self._layers:
            if text.startswith(layer):
                return image + text[len(layer) :]
        return text

    def leading_out(self, links: Iterable[tuple[str, str]]) -> dict[Spot, str]:
        """Links that lead out of what was read; the root of an image is the root of its links."""
        return {
            spot: target
            for spot, target in ((self.of(path), target) for path, target in links)
            if spot.container not in self.images and _leads_out(spot, target)
        }


def _leads_out(spot: Spot, target: str) -> bool:
    if target.startswith("/"):
        return True
    return posixpath.normpath(posixpath.join(posixpath.dirname(spot.path), target)).split("/")[0] == ".."
