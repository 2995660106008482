"""Archives behind something else: zipapps, self-extracting zips, zips behind a program, scripts with a packed tail."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, View
from pipeline.formats import pkzip
from pipeline.formats.facts import Opaque
from pipeline.formats.recognize import HEAD, Kind, recognize
from pipeline.inventory.holding import fits, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.formats.stream import Stream
    from pipeline.inventory.ledger import Ledger
    from pipeline.model.paths import MemberPath

    Enter = Callable[[Kind, View | Stream, MemberPath], str]

_SCRIPT, _PROGRAM = b"#!", b"MZ"
_END = struct.Struct("<4sHHHHIIH")
_LONGEST_COMMENT = 0xFFFF
_LONGEST_SCRIPT = 1 << 20
_WIDE = 0xFFFFFFFF
_PACKED = re.compile(rb"\n(?:\x1f\x8b\x08|\xfd7zXZ\0|\x28\xb5\x2f\xfd|BZh[1-9]1AY&SY)")
_TAR_MAGIC_AT = 257
_TAR = re.compile(rb"\0ustar")


def enter_appended(head: bytes, content: View | Stream, path: MemberPath, ledger: Ledger, enter: Enter) -> str:
    """Walk the archive that lies behind the beginning of a data file; the archive's format, empty where is none.

    What is surely a script with something packed behind it, and cannot be entered, is noted as such.
    """
    script = head.startswith(_SCRIPT)
    if not isinstance(content, View):
        if not (script or head.startswith(_PROGRAM)) or not _worth(head, content):
            return ""
        if not fits(content, ledger.budgets):
            return _enter_tail(content, path, ledger, enter) if script else ""
        content = whole(content, ledger.budgets)
    found = enter_zip_behind(content, path, enter)
    if found or not script:
        return found
    return _enter_tail(content, path, ledger, enter)


def _worth(head: bytes, content: Stream) -> bool:
    """Whether a script may be more than text: most are shorter than what was looked at."""
    return len(head) == HEAD or b"\0" in content.peek(HEAD) or _packed_at(head) > 0 or pkzip.END_MAGIC in head


def enter_zip_behind(view: View, path: MemberPath, enter: Enter) -> str:
    """Walk the zip archive that a file ends with; its format, empty where is none."""
    start = _zip_start(view)
    return enter(Kind.ZIP, view.window(start, view.size - start), path) if start >= 0 else ""


def _zip_start(view: View) -> int:
    """Where the archive begins by its own offsets: 0 where they count from the start of the file; -1 for none."""
    if view.size < _END.size:
        return -1
    try:
        last = view.read(view.size - _END.size, _END.size)
        found = 0 if last.startswith(pkzip.END_MAGIC) else -1
        if found < 0 and view.head(len(_SCRIPT)) in {_SCRIPT, _PROGRAM}:
            tail = min(view.size, _END.size + _LONGEST_COMMENT)
            last = view.read(view.size - tail, tail)
            found = last.rfind(pkzip.END_MAGIC)
        if found < 0 or found + _END.size > len(last):
            return -1
        _, _, _, _, count, size, at, comment = _END.unpack_from(last, found)
        end = view.size - len(last) + found
        if at == _WIDE:
            return 0
        start = end - size - at
        matches = count > 0 and start >= 0 and view.read(start + at, 4) == pkzip.CENTRAL_MAGIC
    except FormatError:  # what a sieve did not keep
        return -1
    return start if matches and found + _END.size + comment == len(last) else -1


def _packed_at(text: bytes) -> int:
    """Where what is packed begins in a script, 0 where nothing is found."""
    packed = _PACKED.search(text)
    if packed is not None:
        return packed.start() + 1
    for found in _TAR.finditer(text):
        start = found.start() + 1 - _TAR_MAGIC_AT
        if start > 0 and text[start - 1 : start] == b"\n":
            return start
    return 0


def _enter_tail(content: View | Stream, path: MemberPath, ledger: Ledger, enter: Enter) -> str:
    text = content.head(_LONGEST_SCRIPT) if isinstance(content, View) else content.peek(_LONGEST_SCRIPT)
    at = _packed_at(text)
    if not at:
        return _noted(content, path, ledger) if b"\0" in text else ""
    kind = recognize(text[at : at + HEAD])
    if kind not in {Kind.COMPRESSED, Kind.TAR}:
        return _noted(content, path, ledger)
    if isinstance(content, View):
        return enter(kind, content.window(at, content.size - at), path)
    content.skip(at)
    return enter(kind, content, path)


def _noted(content: View | Stream, path: MemberPath, ledger: Ledger) -> str:
    size = content.size if isinstance(content, View) else content.drain()
    ledger.opaque.append(Opaque(path, Kind.SELF_EXTRACTING.value, size))
    return Kind.SELF_EXTRACTING.value
