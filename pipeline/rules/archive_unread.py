"""An archive that could not be looked into.

What: a member is an archive of a format that is not read (rpm, 7z, rar, cpio, cab, squashfs, lz4 and lzip streams), or
a script with something packed behind it that nothing here unpacks, and it is large enough for device code. In container
images, which hold such files of their distribution, it is told and counts for nothing.

Why: whatever is in it was not judged, and "pass" would speak for it. The verdict is "unknown".

Remedy: unpack it and audit what comes out, or publish a format that is read (tar, zip, deb, packed by gzip, xz,
Zstandard or bzip2).

Source: `cubingate audit --help`; the formats are told by their first bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.formats.recognize import UNENTERED
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.rules.subject import Subject

RULE = "archive-unread"
_SMALLEST = 2048
"""Bytes: the smallest cubin with a kernel is 2.3 KB, and packs to less than that only among others."""


def check(subject: Subject) -> Examination:
    """Every archive that was not entered."""
    unread = [
        item
        for inventory in subject.inventories
        if not inventory.images
        for item in inventory.opaque
        if item.what in UNENTERED and item.size >= _SMALLEST
    ]
    if not unread:
        return Examination(0, (), "no archive was left unread")
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.DOUBT if subject.labels else Effect.WARNING,
            path=str(item.path),
            declared="everything that is shipped is examined",
            observed=f"{item.what} of {item.size} bytes, not looked into",
            remedy="unpack it and audit what comes out",
            targets=subject.labels,
        )
        for item in unread
    )
    return Examination(len(unread), claims)
