"""Files by which an installed Python distribution says who it is: kept as text, read by whoever asks about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.binary import View

if TYPE_CHECKING:
    from pipeline.formats.stream import Stream

_HEADERS = ("METADATA", "PKG-INFO")
_FILES = (*_HEADERS, "RECORD", "WHEEL", "INSTALLER", "direct_url.json", "top_level.txt", "installed-files.txt")
_ALONE = (".egg-info", ".egg-link", "pyvenv.cfg")
_FOLDER = re.compile(r"(?:[^/]+\.(?:dist|egg)-info|EGG-INFO)")
_SITES = ("", "site-packages", "dist-packages")
_ADDING = ".pth"
_LARGEST = 16 << 20
_LARGEST_HEADERS = 256 << 10
_LARGEST_ADDING = 64 << 10


def is_package_metadata(name: str) -> bool:
    """Whether a member's path is one that Python's packaging gives a meaning (``x-1.0.dist-info/RECORD``)."""
    if name.endswith(_ALONE):
        return True
    folder, _, file = name.rpartition("/")
    if file.endswith(_ADDING):  # of Python's, not the weights of a model: they lie where distributions do
        return folder.rpartition("/")[2] in _SITES
    return file in _FILES and _FOLDER.fullmatch(folder.rpartition("/")[2]) is not None


def read_package_metadata(name: str, content: View | Stream) -> str:
    """The text; of ``METADATA`` and the like only its headers, of what is larger than any real one the beginning."""
    headers = name.endswith((*_HEADERS, ".egg-info"))
    adding = name.endswith(_ADDING)
    most = _LARGEST_HEADERS if headers else _LARGEST_ADDING if adding else _LARGEST
    raw = content.head(most) if isinstance(content, View) else content.peek(most)
    if adding and b"\0" in raw:
        return ""
    text = raw.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return text.partition("\n\n")[0] if headers else text
