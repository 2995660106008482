"""Where something lies inside an artifact: ``bundle.tar.gz!/lib/libggml-cuda.so!/.nv_fatbin!/3``."""

from __future__ import annotations

from dataclasses import dataclass


def printable(name: str) -> str:
    """``name`` on one line: control characters and undecodable bytes are escaped, never printed raw."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in name)


@dataclass(frozen=True, slots=True, order=True)
class MemberPath:
    """The chain of containers from the artifact down to one member."""

    parts: tuple[str, ...]

    def child(self, name: str) -> MemberPath:
        """The path of a member called ``name`` inside this one."""
        return MemberPath((*self.parts, name))

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]

    def __str__(self) -> str:
        return printable("!/".join(self.parts))
