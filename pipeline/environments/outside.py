"""What an environment loads from folders that were not read: the system's, those of .pth files, behind links."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.distribution import Distribution
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipeline.environments.spots import Spot, Spots
    from pipeline.formats.facts import Inventory

SITES = ("site-packages", "dist-packages")
LIBRARY = re.compile(r".*\.(?:so|cubin|fatbin)(?:\.[0-9.]+)?", re.DOTALL | re.ASCII)
_METADATA = (".dist-info", ".egg-info", ".egg", ".libs")
_CONFIG, _ADDING = "pyvenv.cfg", ".pth"
_CODE = ("import ", "import\t", "#")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Outside:
    """``sites`` hold distributions, ``claimed`` are what their lists name and the folders of that.

    ``out`` are links that lead out, ``read`` the absolute paths of all that is audited in this run, ``elsewhere`` the
    folders of editable installations, which are told with these.
    """

    spots: Spots
    sites: frozenset[Spot]
    claimed: frozenset[Spot]
    out: Mapping[Spot, str]
    read: tuple[str, ...]
    elsewhere: tuple[str, ...]

    def distributions(self, inventory: Inventory) -> Iterator[Distribution]:
        """One for each place from which something comes that nobody looked at."""
        for item in inventory.metadata:
            spot = self.spots.own(str(item.path))
            if spot.name == _CONFIG and spot.container not in self.spots.images:
                yield from self._system(spot, item.text)
            elif spot.name.endswith(_ADDING) and (spot.folder in self.sites or spot.folder.name in SITES):
                yield from self._added(spot, item.text)
        yield from self._linked()

    def _system(self, spot: Spot, text: str) -> Iterator[Distribution]:
        """A virtual environment that takes the packages of the Python that it was made with, too."""
        rows = (line.partition("=") for line in text.split("\n"))
        said = {name.strip().lower(): value.strip() for name, _, value in rows}
        if said.get("include-system-site-packages", "").lower() != "true":
            return
        prefix = posixpath.dirname(posixpath.normpath(said.get("home", "")))
        if not self._has_system(spot, prefix):
            why = f"{_CONFIG} includes the packages of the Python in {_shown(prefix)}, which were not read"
            yield _unread("system site-packages", spot, spot.folder, why)

    def _has_system(self, spot: Spot, prefix: str) -> bool:
        """Debian has several folders of packages below one prefix: only where there is one does it suffice."""
        only = re.compile(rf"{re.escape(prefix)}/lib(?:64)?/python[0-9.]+/site-packages")
        inside = (site.path for site in self.sites if site.container == spot.container)
        own = f"{spot.folder.path}/" if spot.folder.path else ""
        return any(_is_in(prefix, folder) or only.fullmatch(folder) for folder in self.read) or any(
            _is_in(f"/{path}", prefix) and own and not path.startswith(own) for path in inside if prefix.strip("/")
        )

    def _added(self, spot: Spot, text: str) -> Iterator[Distribution]:
        for line in text.split("\n"):
            if line.strip() and not line.startswith(_CODE) and (place := self._out(spot, line.rstrip())):
                yield _unread(spot.name, spot, spot.folder, f"it adds {_shown(place)}, which was not read")
                return

    def _out(self, spot: Spot, line: str) -> str:
        """The folder that a line adds, if it was not read."""
        place = posixpath.normpath(posixpath.join(spot.folder.path, line))
        if not place.startswith(("/", "../")) and place != "..":
            return ""
        if spot.container in self.spots.images:
            return ""
        known = any(_is_in(place, folder) for folder in (*self.read, *self.elsewhere))
        return "" if known else line

    def _linked(self) -> Iterator[Distribution]:
        """A whole ``site-packages`` that is a link; in one, packages and libraries that no list names."""
        groups: dict[tuple[Spot, Spot], list[Spot]] = {}
        for spot, target in self.out.items():
            if spot.name in SITES:
                why = f"it is a link to {_shown(target)}, outside of what was read"
                yield _unread(spot.name, spot, spot.folder, why)
            elif spot not in self.claimed and (around := self._site_around(spot)) and _may_hold_code(spot, around[0]):
                groups.setdefault(around, []).append(spot)
        for (top, site), links in groups.items():
            where = f"{printable(links[0].path)[:_LONGEST]} -> {_shown(self.out[links[0]])}"
            more = f" and {len(links) - 1} more" if len(links) > 1 else ""
            yield _unread(top.name, top, site, f"it lies behind links out of the input ({where}{more})")

    def _site_around(self, spot: Spot) -> tuple[Spot, Spot] | None:
        """What lies directly in a site, and the site."""
        while spot.path:
            if spot.folder in self.sites or spot.folder.name in SITES:
                return spot, spot.folder
            spot = spot.folder
        return None


def _may_hold_code(spot: Spot, top: Spot) -> bool:
    """A library, metadata, or what looks like a folder: a package, or one of a namespace (``nvidia/cublas``)."""
    shallow = top in {spot, spot.folder}
    return bool(LIBRARY.fullmatch(spot.name)) or spot.name.endswith(_METADATA) or (shallow and "." not in spot.name)


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")


def _shown(text: str) -> str:
    return printable(text)[:_LONGEST]


def _unread(name: str, spot: Spot, site: Spot, why: str) -> Distribution:
    return Distribution(name, "", str(spot), str(site), unread=(why,), claimed=False)
