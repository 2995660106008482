"""Member names as archives give them, made relative, or refused when they lead out of the archive."""

from __future__ import annotations

from pipeline.binary import FormatError

_LONGEST = 4096


def relative(name: str) -> str:
    """``./lib//a.so`` as ``lib/a.so``; ``FormatError`` for absolute names and ``..``; empty for the root itself."""
    if name.startswith(("/", "\\")) or name[1:3] == ":\\":
        raise FormatError("an absolute member name")
    if len(name) > _LONGEST:
        raise FormatError(f"a member name of {len(name)} characters")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise FormatError("a member name that leads out of the archive")
    return "/".join(parts)


def leads_out(link_name: str, target: str, *, rooted: bool) -> bool:
    """Whether a symbolic link's target lies outside the archive.

    ``rooted`` archives are file systems (Debian packages, image layers), where absolute targets stay inside.
    """
    if target.startswith("/"):
        return not rooted
    depth = link_name.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in {"", "."}
        if depth < 0:
            return not rooted
    return False
