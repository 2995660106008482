"""The packages that a Debian package depends on: what it may leave to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, open_view
from pipeline.formats import ar, compression, tar
from pipeline.formats.budgets import STANDARD
from pipeline.formats.recognize import HEAD
from pipeline.formats.stream import stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.formats.stream import Stream

_LARGEST_CONTROL = 1 << 20
_FIELD = re.compile(r"^(?:Pre-)?Depends:(?P<value>.*(?:\n[ \t].*)*)", re.MULTILINE | re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+", re.ASCII)


def depends_of(path: Path) -> tuple[str, ...]:
    """Names of the packages in Depends and Pre-Depends, alternatives too; none where ``path`` is no readable package.

    A damaged package is reported by the inventory, so it is not an error here.
    """
    try:
        with open_view(path) as view:
            if not ar.is_deb(view.head(HEAD)):
                return ()
            return tuple(dict.fromkeys(_names(_control(stream_of(view)))))
    except FormatError:
        return ()


def _control(source: Stream) -> str:
    for member in ar.read_ar(source, STANDARD):
        if member.name.startswith("control.tar"):
            which = compression.recognize(member.content.peek(HEAD))
            content = member.content
            inner = content if which is None else compression.decompressed(content, which, STANDARD)
            return next((text for text in _texts(inner) if text), "")
    return ""


def _texts(archive: Stream) -> Iterator[str]:
    for member in tar.read_tar(archive, STANDARD):
        if member.name.removeprefix("./") == "control":
            yield member.content.peek(_LARGEST_CONTROL).decode("utf-8", "replace")


def _names(control: str) -> Iterator[str]:
    for field in _FIELD.finditer(control):
        for relation in re.split(r"[,|]", field["value"]):
            found = _NAME.match(relation.strip())
            if found:
                yield found[0]
