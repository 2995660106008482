"""The distributions or packages that an artifact's own metadata names: what it may leave to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.audit.debian import depends_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from zipfile import ZipFile

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_LARGEST_METADATA = 4 << 20


def requirements_of(path: Path) -> tuple[str, ...]:
    """Normalized names of what a wheel requires, or a Debian package depends on; none where ``path`` is neither.

    A damaged wheel is reported by the inventory, so it is not an error here.
    """
    if path.suffix != ".whl" or not path.is_file():
        return depends_of(path) if path.suffix == ".deb" and path.is_file() else ()
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(dict.fromkeys(_names(archive)))
    except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError, RuntimeError, ValueError):
        return ()


def _names(archive: ZipFile) -> Iterator[str]:
    from email.parser import HeaderParser

    for info in archive.infolist():
        if info.filename.count("/") == 1 and info.filename.endswith(".dist-info/METADATA"):
            if info.file_size > _LARGEST_METADATA:
                continue
            headers = HeaderParser().parsestr(archive.read(info).decode("utf-8", "replace"))
            for line in headers.get_all("Requires-Dist", []):
                found = _NAME.match(str(line))
                if found:
                    yield re.sub(r"[-_.]+", "-", found[0]).lower()
