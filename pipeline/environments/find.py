"""Find the distributions of what was read, and say which files each of them brought."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.environments.metadata import Said, normalized, read_metadata
from pipeline.environments.outside import LIBRARY, SITES, Outside
from pipeline.environments.spots import MARK, Spot, Spots
from pipeline.formats.facts import LOCK
from pipeline.model.distribution import Distribution
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import Inventory

_CUDA_LIBRARY = re.compile(
    r"lib(?:cu|nv|npp)[A-Za-z_]+\.so(?:\.[0-9.]+)?|(?:cudart|cublas|cublasLt|nvrtc)64_[0-9_]+\.dll|nvcc|ptxas", re.ASCII
)
_NAMED = (".dll", "nvcc", "ptxas")
_TOOLKIT = re.compile(r"(?:.*/)?cuda(?:-[0-9.]+)?(?=/)", re.ASCII)
_ELSEWHERE = ("win", "macosx", "ios", "android")


@dataclass(slots=True)
class _Found:
    """A distribution in the making: ``folder`` holds its metadata, ``site`` its files."""

    said: Said
    folder: Spot
    site: Spot
    whole: bool
    members: set[str] = field(default_factory=set)


def distributions_of(inventory: Inventory, roots: tuple[str, ...] = ()) -> tuple[Distribution, ...]:
    """Every distribution in ``inventory``, by name, and under the name of their folder the files that none claims.

    None where nothing calls itself a distribution. ``roots`` are the other folders that are audited in the same run.
    """
    spots = Spots(inventory)
    found = [_read(folder, files) for folder, files in _folders(inventory, spots).items()]
    spots.containers.update(item.folder.container for item in found)
    out = spots.leading_out(inventory.links.items())
    unread = tuple(_outside(found, spots, out, roots).distributions(inventory))
    if not found and not unread and inventory.format != LOCK:
        return ()
    unclaimed = _attribute(found, _files(inventory, spots))
    there = frozenset(spots.of(name) for name in (*inventory.files, *inventory.links) if LIBRARY.fullmatch(name))
    told = [_distribution(item, out, there, roots) for item in found]
    told += [*_unclaimed(unclaimed, {item.site for item in found}), *unread]
    if inventory.format == LOCK:  # what is installed together
        told = [replace(item, environment=inventory.root) for item in (*told, *_unresolved(inventory))]
    return tuple(sorted(told, key=lambda item: (item.name, item.version, item.path)))


def _outside(found: list[_Found], spots: Spots, out: dict[Spot, str], roots: tuple[str, ...]) -> Outside:
    claimed: set[Spot] = set()
    for item in found if out else ():
        for path in item.said.record or ():
            spot = Spot(item.site.container, path)
            while spot.path and spot not in claimed:
                claimed.add(spot)
                spot = spot.folder
    elsewhere = tuple(item.said.editable for item in found if item.said.editable)
    sites = frozenset(item.site for item in found)
    return Outside(spots, sites, frozenset(claimed), out, roots, elsewhere)


def _unresolved(inventory: Inventory) -> Iterator[Distribution]:
    """Pins of a lock file that have no wheel for the machine."""
    for item in inventory.opaque:
        if len(item.path.parts) == 2:
            name, _, version = item.path.name.partition("==")
            yield Distribution(name, version, str(item.path), inventory.root, unread=(item.what,))


def _folders(inventory: Inventory, spots: Spots) -> dict[Spot, dict[str, str]]:
    """The text of metadata files by their folder; a file that is metadata by itself stands for its folder."""
    folders: dict[Spot, dict[str, str]] = {}
    for item in inventory.metadata:
        spot = spots.own(str(item.path))
        if _is_cargo(spot):
            continue
        if spot.name.endswith((".egg-info", ".egg-link")):
            folders.setdefault(spot, {})["" if spot.name.endswith("info") else "egg-link"] = item.text
        elif not spot.name.endswith(("pyvenv.cfg", ".pth")):
            folders.setdefault(spot.folder, {})[spot.name] = item.text
    return folders


def _is_cargo(spot: Spot) -> bool:
    """Whether it is not installed but part of something that is: a vendored copy, a wheel in a package."""
    inside = any(f"{site}/" in spot.container for site in SITES) and not spot.path.startswith("EGG-INFO/")
    return inside or "/_vendor/" in f"/{spot.path}"


def _read(folder: Spot, files: dict[str, str]) -> _Found:
    """An egg is a folder or archive of its own, with its metadata inside; all else lies beside its metadata."""
    whole = folder.name == "EGG-INFO"
    said = read_metadata(folder.path or folder.container, folder.folder.path, files)
    if "egg-link" in files:
        said.editable, said.flaws = printable(files["egg-link"].split("\n")[0].strip())[:200] or "another folder", []
    if whole and not folder.folder.path:
        said.name = said.name or posixpath.basename(folder.container)
    return _Found(said, folder, folder.folder, whole)


def _files(inventory: Inventory, spots: Spots) -> dict[Spot, list[str]]:
    """The files that belong to somebody, by where they lie: ELF, device code, CUDA libraries, what is damaged."""
    around = dict.fromkeys(item.path.parts[: -2 if item.section else None] for item in inventory.fatbins)
    paths = [item.path for item in inventory.elves] + [item.path for item in inventory.bare]
    printed = [str(path) for path in (*paths, *(item.path for item in inventory.damage))]
    printed += ["!/".join(map(printable, parts)) for parts in around]
    printed += [
        name
        for name in inventory.files
        if (".so" in name or name.endswith(_NAMED)) and _CUDA_LIBRARY.fullmatch(name.rpartition("/")[2])
    ]
    found: dict[Spot, list[str]] = {}
    for name in dict.fromkeys(printed):
        found.setdefault(spots.of(name), []).append(name)
    return found


def _attribute(found: list[_Found], files: dict[Spot, list[str]]) -> dict[Spot, list[str]]:
    """Give every file to the distribution that lists it, or else to the one that is called like its folder."""
    wanted = {spot.path for spot in files}
    listed = {
        Spot(item.site.container, path): item for item in found for path in (item.said.record or frozenset()) & wanted
    }
    eggs = {item.site: item for item in found if item.whole}
    named = {(item.site, top): item for item in found for top in _tops(item)}
    unclaimed: dict[Spot, list[str]] = {}
    for spot, printed in files.items():
        owner = listed.get(spot) or _around(spot, eggs) or _by_folder(spot, named)
        if owner is None:
            unclaimed.setdefault(spot, []).extend(printed)
        else:
            owner.members.update(printed)
    return unclaimed


def _tops(item: _Found) -> Iterator[str]:
    """The names that its folders have as a rule; those of other distributions may be the same."""
    name = normalized(item.said.name).replace("-", "_")
    yield from (name, f"{name}.libs", *(item.said.tops if item.said.record is None else ()))


def _around(spot: Spot, eggs: dict[Spot, _Found]) -> _Found | None:
    while spot.path and spot not in eggs:
        spot = spot.folder
    return eggs.get(spot)


def _by_folder(spot: Spot, named: dict[tuple[Spot, str], _Found]) -> _Found | None:
    """By the folder (or the module) that lies directly in a site."""
    while spot.path:
        folder, name = spot.folder, spot.name
        for top in (name, name.lower(), name.partition(".")[0]):
            if (folder, top) in named:
                return named[folder, top]
        spot = folder
    return None


def _distribution(item: _Found, out: dict[Spot, str], there: frozenset[Spot], roots: tuple[str, ...]) -> Distribution:
    said = item.said
    unread = [*_editable(said, roots), *_other_platform(said), *_links_out(item, out)]
    return Distribution(
        name=normalized(said.name),
        version=said.version,
        path=str(item.folder),
        environment=_environment(item),
        members=frozenset(item.members),
        requires=said.requires,
        tags=said.tags,
        unread=tuple(unread),
        flaws=(*said.flaws, *_missing(item, there)),
    )


def _environment(item: _Found) -> str:
    """What loads together: a site. An egg lies in one, as a folder or as an archive."""
    if not item.whole:
        return str(item.site)
    container, mark, path = item.site.container.rpartition(MARK)
    return str(item.site.folder if item.site.path else Spot(container, posixpath.dirname(path)) if mark else item.site)


def _editable(said: Said, roots: tuple[str, ...]) -> Iterator[str]:
    if said.editable and posixpath.normpath(said.editable) not in roots:
        yield f"its code lies in {said.editable} (an editable installation)"


def _other_platform(said: Said) -> Iterator[str]:
    """Wheels for several systems say so in their tags."""
    platforms = [platform for tag in said.tags for platform in tag.rpartition("-")[2].split(".")]
    if platforms and all(platform.startswith(_ELSEWHERE) for platform in platforms):
        yield f"it is for {platforms[0]}, whose libraries are not read"


def _links_out(item: _Found, out: dict[Spot, str]) -> Iterator[str]:
    """Files that it lists, but that are links to something outside, or lie behind one."""
    listed = sorted(path for path in item.said.record or () if out and LIBRARY.fullmatch(path))
    libraries = [(path, target) for path in listed if (target := _target(item, path, out))]
    if libraries:
        path, target = libraries[0]
        where = f"{printable(path)[:200]} -> {printable(target)[:200]}"
        yield f"{len(libraries)} of its libraries lie behind links out of the input ({where})"


def _target(item: _Found, path: str, out: dict[Spot, str]) -> str:
    spot = Spot(item.site.container, path)
    while spot.path:
        if spot in out:
            return out[spot]
        spot = spot.folder
    return ""


def _missing(item: _Found, there: frozenset[Spot]) -> Iterator[str]:
    container = item.site.container
    gone = [
        path
        for path in sorted(item.said.record or ())
        if LIBRARY.fullmatch(path) and not path.startswith("../") and Spot(container, path) not in there
    ]
    if gone and not item.said.editable:
        yield f"RECORD lists {len(gone)} libraries that are not there, such as {printable(gone[0])[:200]}"


def _unclaimed(files: dict[Spot, list[str]], sites: set[Spot]) -> Iterator[Distribution]:
    """Files of no distribution, by the folder of a site, or the CUDA toolkit, that they lie in."""
    groups: dict[tuple[Spot, Spot], set[str]] = {}
    for spot, names in files.items():
        around = _site_around(spot, sites)
        if around is not None:
            groups.setdefault(around, set()).update(names)
    for (top, site), members in groups.items():
        yield Distribution(top.name, "", str(top), str(site), frozenset(members), claimed=False)


def _site_around(spot: Spot, sites: set[Spot]) -> tuple[Spot, Spot] | None:
    if toolkit := _TOOLKIT.match(spot.path):
        return Spot(spot.container, toolkit[0]), Spot(spot.container, "")
    inside = spot
    while inside.path:
        if inside.folder in sites:
            return inside, inside.folder
        inside = inside.folder
    return None
