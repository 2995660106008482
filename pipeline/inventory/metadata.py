"""The text in which a wheel or a Debian package says what it needs, out of the file itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, View, open_view
from pipeline.formats import ar, compression, pkzip, tar
from pipeline.formats.budgets import STANDARD
from pipeline.formats.recognize import HEAD
from pipeline.formats.stream import stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.formats.stream import Stream

_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_LARGEST = 4 << 20


def wheel_metadata(path: Path) -> str:
    """The METADATA file of a wheel; empty where there is none or it cannot be read, which the inventory reports."""
    try:
        with open_view(path) as view:
            return next(_wheel_texts(view), "")
    except FormatError:
        return ""


def _wheel_texts(view: View) -> Iterator[str]:
    from pipeline.formats.pkzip_members import open_member  # loads decompressors that most runs do not need

    for member in pkzip.read_directory(view, STANDARD):
        if _METADATA.fullmatch(member.name) and member.size <= _LARGEST:
            content = open_member(view, member, STANDARD, ahead=False)
            data = content.head(content.size) if isinstance(content, View) else b"".join(content.rest())
            yield data.decode("utf-8", "replace")


def debian_control(path: Path) -> str:
    """The control file of a Debian package; empty where there is none or it cannot be read."""
    try:
        with open_view(path) as view:
            return next(_control_texts(stream_of(view)), "") if ar.is_deb(view.head(HEAD)) else ""
    except FormatError:
        return ""


def _control_texts(source: Stream) -> Iterator[str]:
    for member in ar.read_ar(source, STANDARD):
        if member.name.startswith("control.tar"):
            which = compression.recognize(member.content.peek(HEAD))
            content = member.content
            yield from _control_in(content if which is None else compression.decompressed(content, which, STANDARD))


def _control_in(archive: Stream) -> Iterator[str]:
    for member in tar.read_tar(archive, STANDARD):
        if member.name.removeprefix("./") == "control":
            yield member.content.peek(_LARGEST).decode("utf-8", "replace")
