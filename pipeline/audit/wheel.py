"""The distributions or packages that an artifact's own metadata names: what it may leave to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.rules.distributions import OF_AN_EXTRA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.formats.facts import Inventory

_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_EXTRA = re.compile(r";.*\bextra\s*==")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+", re.ASCII)
_DEPENDS = re.compile(r"^(?:Pre-)?Depends:(?P<value>.*(?:\n[ \t].*)*)", re.MULTILINE | re.IGNORECASE)


def requirements_of(path: Path) -> tuple[str, ...]:
    """Normalized names of what a wheel requires, or a Debian package depends on; none where ``path`` is neither.

    A damaged one is reported by the inventory, so it is not an error here.
    """
    named = {".whl": _required, ".deb": _depended_on}.get(path.suffix)
    return tuple(dict.fromkeys(named(path))) if named is not None and path.is_file() else ()


def nested_requirements(inventories: Iterable[Inventory]) -> Iterator[str]:
    """The same of wheels that lie in archives and folders."""
    for inventory in inventories:
        for item in inventory.metadata:
            inside = any(part.endswith(".whl") for part in item.path.parts[:-1])
            if inside and item.path.name.endswith(".dist-info/METADATA"):
                yield from _named_in(item.text)


def _required(path: Path) -> Iterator[str]:
    from pipeline.inventory.metadata import wheel_metadata

    yield from _named_in(wheel_metadata(path))


def _named_in(metadata: str) -> Iterator[str]:
    """Names that are required; of an extra, which users must ask for, with a mark that no distribution's name has."""
    from email.parser import HeaderParser

    for line in HeaderParser().parsestr(metadata).get_all("Requires-Dist", []):
        found = _DISTRIBUTION.match(str(line))
        if found:
            mark = OF_AN_EXTRA if _EXTRA.search(str(line)) else ""
            yield re.sub(r"[-_.]+", "-", found[0]).lower() + mark


def _depended_on(path: Path) -> Iterator[str]:
    """Depends and Pre-Depends, alternatives too."""
    from pipeline.inventory.metadata import debian_control

    for field in _DEPENDS.finditer(debian_control(path)):
        for relation in re.split(r"[,|]", field["value"]):
            found = _PACKAGE.match(relation.strip())
            if found:
                yield found[0]
