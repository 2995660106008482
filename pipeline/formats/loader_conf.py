"""``/etc/ld.so.conf`` and what it includes: the folders that a root file system adds to the dynamic linker's own."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?:.*/)?etc/ld\.so\.conf(?:\.d/[^/]+\.conf)?", re.ASCII)
_PART = "etc/ld.so.conf"
_HWCAP = "hwcap"


def is_loader_conf(name: str) -> bool:
    """Whether a member's path is that of ``ld.so.conf`` or of a file that it includes by custom."""
    return _PART in name and _NAME.fullmatch(name) is not None


def read_loader_conf(head: bytes) -> tuple[str, ...]:
    """The lines that name a folder or ``include`` a pattern, without comments; what ldconfig(8) ignores is left out.

    ``head`` is the beginning of the file, far more than any real one has.
    """
    text = head.decode("utf-8", "surrogateescape")
    lines = (" ".join(line.partition("#")[0].split()) for line in text.splitlines())
    return tuple(line for line in lines if line.startswith(("/", "include ")) and not line.startswith(_HWCAP))
