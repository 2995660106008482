"""Members of a tar that are the same bytes on every machine: no owner, no clock, two modes."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def add_member(tar: tarfile.TarFile, path: Path, name: str, *, time: int = 0) -> None:
    """Add a file, folder or link as ``name``, changed at ``time`` (seconds since 1970). ``OSError`` as from reading."""
    member = tarfile.TarInfo(name)
    member.mtime = time
    if path.is_symlink():
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        tar.addfile(member)
    elif path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
    else:
        status = path.stat()
        member.size, member.mode = status.st_size, 0o755 if status.st_mode & 0o100 else 0o644
        with path.open("rb") as content:
            tar.addfile(member, content)
