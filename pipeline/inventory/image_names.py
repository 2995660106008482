"""Names that the parts of container images have: enough to tell that something may be an image."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.formats import tar

if TYPE_CHECKING:
    from collections.abc import Iterable

INDEX, SAVED, LAYOUT = "index.json", "manifest.json", "oci-layout"
_HEX = "[0-9a-f]{64}"
_PARTS = re.compile(
    rf"blobs/sha256/{_HEX}|{_HEX}/(?:layer\.tar|json|VERSION)|(?:sha256:)?{_HEX}(?:\.json|\.tar(?:\.gz|\.zst)?)?"
    r"|index\.json|manifest\.json|oci-layout|repositories",
    re.ASCII,
)
_FOLDER = re.compile(rf"(?:\./)?(?:blobs/(?:sha256/)?|{_HEX}/)", re.ASCII)


def is_part(name: str) -> bool:
    """Whether images have members of this name; others have them as well, so that alone it says nothing."""
    return _PARTS.fullmatch(name) is not None


def begins_image(head: bytes) -> bool:
    """Whether a tar archive with this head may well be an image."""
    name = head[:100].partition(b"\0")[0].decode("ascii", "replace")
    return tar.is_tar(head) and (is_part(name) or _FOLDER.fullmatch(name) is not None)


def is_folder_image(names: Iterable[str]) -> bool:
    """Whether a directory with these files is an OCI layout."""
    return {INDEX, LAYOUT} <= set(names)
