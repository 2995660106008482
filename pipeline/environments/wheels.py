"""Which of a project's wheels a given Python on a given machine would install, as pip chooses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packaging.tags import Tag

_MANYLINUX = re.compile(r"manylinux_([0-9]+)_([0-9]+)_(.+)", re.ASCII)
_OLD = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17), "linux": (0, 0)}
_NEVER = (-1, -1)


@dataclass(frozen=True, slots=True)
class Installer:
    """A CPython of that version on Linux; ``glibc`` is the host's where it is known."""

    python: tuple[int, int]
    machine: str
    glibc: tuple[int, int] | None = None

    def wants(self, marker: str, groups: frozenset[str] = frozenset()) -> bool:
        """Whether an environment marker holds here, with these dependency groups and no extra; ``UsageError``."""
        if not marker:
            return True
        try:
            return Marker(marker).evaluate(self._environment() | {"extras": frozenset(), "dependency_groups": groups})
        except (InvalidMarker, UndefinedEnvironmentName) as error:
            raise UsageError(f"{marker!r} is not an environment marker: {str(error).splitlines()[0]}") from None

    def _environment(self) -> dict[str, str]:
        version = f"{self.python[0]}.{self.python[1]}"
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{version}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{version}.0",
            "python_version": version,
            "sys_platform": "linux",
            "extra": "",
        }

    def best(self, filenames: Iterable[str]) -> str:
        """The wheel that fits best; nothing where none does."""
        order = self._order()
        ranked = [(rank, name) for name in filenames if (rank := self._rank(name, order)) is not None]
        return min(ranked)[1] if ranked else ""

    def _order(self) -> dict[tuple[str, str], int]:
        interpreter = f"cp{self.python[0]}{self.python[1]}"
        tags = [*cpython_tags(self.python, platforms=["any"]), *compatible_tags(self.python, interpreter, ["any"])]
        order: dict[tuple[str, str], int] = {}
        for tag in tags:
            order.setdefault((tag.interpreter, tag.abi), len(order))
        return order

    def _rank(self, filename: str, order: dict[tuple[str, str], int]) -> tuple[int, int, int] | None:
        """Lower is better: the interpreter's own ABI first, then the newest glibc that the host has."""
        try:
            tags = parse_wheel_filename(filename)[3]
        except (InvalidWheelFilename, InvalidVersion):
            return None
        ranks = [rank for tag in tags if (rank := self._rank_tag(tag, order)) is not None]
        return min(ranks, default=None)

    def _rank_tag(self, tag: Tag, order: dict[tuple[str, str], int]) -> tuple[int, int, int] | None:
        place = order.get((tag.interpreter, tag.abi))
        glibc = self._glibc_of(tag.platform)
        if place is None or glibc == _NEVER or (self.glibc is not None and glibc > self.glibc):
            return None
        return (place, -glibc[0], -glibc[1])

    def _glibc_of(self, platform: str) -> tuple[int, int]:
        if platform == "any":
            return (0, 0)
        if (new := _MANYLINUX.fullmatch(platform)) is not None:
            return (int(new[1]), int(new[2])) if new[3] == self.machine else _NEVER
        old = platform.removesuffix(f"_{self.machine}")
        return _OLD.get(old, _NEVER) if old != platform else _NEVER


def same_version(one: str, other: str) -> bool:
    """Whether two spellings are of one version; a pin without local version means any."""
    try:
        left, right = Version(one), Version(other)
    except InvalidVersion:
        return one == other
    return left == right or (left.local is None and left.public == right.public)
