"""Member names as archives give them, made relative, or refused when they lead out of the archive."""

from __future__ import annotations

import re

from pipeline.binary import FormatError

_LONGEST = 4096
_INTERPRETER = re.compile(r"(.*/)?bin/python(3(\.\d+)?t?)?", re.ASCII | re.DOTALL)


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

    ``rooted`` archives are file systems (Debian packages, image layers), where absolute targets stay inside. The
    interpreter of a packed virtual environment is the host's, and no escape: ``bin/python3 -> /usr/bin/python3``.
    """
    if _INTERPRETER.fullmatch(link_name) and _INTERPRETER.fullmatch(target) and ".." not in target.split("/"):
        return False
    if target.startswith("/"):
        return not rooted
    depth = link_name.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in {"", "."}
        if depth < 0:
            return not rooted
    return False
