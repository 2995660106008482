"""The distributions or packages that an artifact's own metadata names: what it may leave to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+", re.ASCII)
_DEPENDS = re.compile(r"^(?:Pre-)?Depends:(?P<value>.*(?:\n[ \t].*)*)", re.MULTILINE | re.IGNORECASE)


def requirements_of(path: Path) -> tuple[str, ...]:
    """Normalized names of what a wheel requires, or a Debian package depends on; none where ``path`` is neither.

    A damaged one is reported by the inventory, so it is not an error here.
    """
    named = {".whl": _required, ".deb": _depended_on}.get(path.suffix)
    return tuple(dict.fromkeys(named(path))) if named is not None and path.is_file() else ()


def _required(path: Path) -> Iterator[str]:
    from email.parser import HeaderParser

    from pipeline.inventory.metadata import wheel_metadata

    for line in HeaderParser().parsestr(wheel_metadata(path)).get_all("Requires-Dist", []):
        found = _DISTRIBUTION.match(str(line))
        if found:
            yield re.sub(r"[-_.]+", "-", found[0]).lower()


def _depended_on(path: Path) -> Iterator[str]:
    """Depends and Pre-Depends, alternatives too."""
    from pipeline.inventory.metadata import debian_control

    for field in _DEPENDS.finditer(debian_control(path)):
        for relation in re.split(r"[,|]", field["value"]):
            found = _PACKAGE.match(relation.strip())
            if found:
                yield found[0]
