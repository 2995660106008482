"""Sizes as people write and read them: ``900 MiB``."""

from __future__ import annotations

import re

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
SIZE_PATTERN = r"[1-9][0-9]{0,5}(\.[0-9]{1,3})? ?(KiB|MiB|GiB)"


def parse_size(text: str) -> int:
    """Bytes of ``1.5 GiB``; ``ValueError`` when it is not a size."""
    if not re.fullmatch(SIZE_PATTERN, text, re.ASCII):
        raise ValueError(f"{text!r} is not a size such as 900 MiB")
    return int(float(text[:-3]) * _UNITS[text[-3:]])


def size_text(size: int) -> str:
    """``1.4 GiB``, one decimal, in the largest unit that gives at least 1."""
    unit = next((name for name in reversed(_UNITS) if size >= _UNITS[name]), "B")
    return f"{size} B" if unit == "B" else f"{size / _UNITS[unit]:.1f} {unit}"
