"""What a distribution's metadata files say: name, version, requirements, wheel tags, files; flaws are named."""

from __future__ import annotations

import csv
import json
import posixpath
import re
from dataclasses import dataclass, field
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from pipeline.environments.pins import local_place
from pipeline.model.distribution import Requirement
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REQUIRED = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?\s*(?:===?\s*([^\s,;)*]+)\s*(?=[;)]|$))?"
)
_INFO = re.compile(r"(?P<name>.+?)-(?P<version>[0-9][^-]*)(?:-.*)?\.(?:dist|egg)-info")
_EGG = re.compile(r"(?P<name>.+?)-(?P<version>[0-9][^-]*)(?:-.*)?\.egg")
_LONGEST = 200
_MOST_ROWS = 500_000


@dataclass(slots=True)
class Said:
    """What the files of one metadata folder say. ``record`` is ``None`` where no list of files is usable."""

    name: str = ""
    version: str = ""
    requires: tuple[Requirement, ...] = ()
    tags: tuple[str, ...] = ()
    record: frozenset[str] | None = None
    tops: tuple[str, ...] = ()
    editable: str = ""
    flaws: list[str] = field(default_factory=list)


def normalized(name: str) -> str:
    """``Foo_Bar.baz`` as ``foo-bar-baz`` (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_metadata(folder: str, site: str, files: Mapping[str, str]) -> Said:
    """Read the files of ``folder`` (its path, the files by their name); listed paths are relative to ``site``."""
    said = Said()
    _headers(said, files)
    _name_of_folder(said, folder)
    if "WHEEL" in files:
        said.tags = tuple(value for name, value in _lines_of_headers(files["WHEEL"]) if name == "tag")
    _record(said, folder, site, files)
    said.tops = tuple(files.get("top_level.txt", "").split())
    _direct_url(said, files.get("direct_url.json"))
    return said


def _headers(said: Said, files: Mapping[str, str]) -> None:
    text = files.get("METADATA", files.get("PKG-INFO", files.get("", "")))
    if not text.strip():
        said.flaws.append("no METADATA")
        return
    headers = _lines_of_headers(text)
    found = dict(reversed(headers))
    said.name, said.version = _word(found.get("name", "")), _word(found.get("version", ""))
    if not said.name or not said.version:
        said.flaws.append("METADATA without name or version")
    asked = (_REQUIRED.match(value) for name, value in headers if name == "requires-dist")
    said.requires = tuple(Requirement(normalized(row[1]), row[2] or "") for row in asked if row is not None)


def _lines_of_headers(text: str) -> list[tuple[str, str]]:
    return [(name.lower(), str(value)) for name, value in HeaderParser().parsestr(text).items()]


def _word(text: str) -> str:
    return printable(text.strip())[:_LONGEST]


def _name_of_folder(said: Said, folder: str) -> None:
    """Metadata without a name leaves the folder's."""
    base = posixpath.basename(folder)
    if base == "EGG-INFO":
        base = posixpath.basename(posixpath.dirname(folder))
    found = _INFO.fullmatch(base) or _EGG.fullmatch(base)
    said.name = said.name or _word(found["name"] if found else base.partition(".")[0])
    said.version = said.version or _word(found["version"] if found else "")


def _record(said: Said, folder: str, site: str, files: Mapping[str, str]) -> None:
    if "RECORD" in files:
        rows, broken = _rows(files["RECORD"])
        said.record = frozenset(_joined(site, row) for row in rows)
        if broken:
            said.flaws.append(f"RECORD has {broken} lines that are none")
        if not rows:
            said.record = None
            said.flaws.append("RECORD lists no file")
    elif "installed-files.txt" in files:
        listed = files["installed-files.txt"].split("\n")
        said.record = frozenset(posixpath.normpath(posixpath.join(folder, row)) for row in listed if row.strip())
    elif folder.endswith(".dist-info"):
        said.flaws.append("no RECORD")


def _joined(site: str, row: str) -> str:
    """A listed path in its container; only unusual ones need the whole treatment."""
    if "./" in row or row.startswith("/") or "//" in row:
        return posixpath.normpath(posixpath.join(site, row))
    return f"{site}/{row}" if site else row


def _rows(text: str) -> tuple[list[str], int]:
    """The paths that RECORD lists, and how many of its lines are none."""
    found: list[str] = []
    broken = 0
    lines = [line for line in text.split("\n") if line.strip()][:_MOST_ROWS]
    try:
        rows = list(csv.reader(lines))
    except csv.Error:
        return [], len(lines)
    for row in rows:
        if len(row) == 3 and row[0] and "\0" not in row[0]:
            found.append(row[0])
        else:
            broken += 1
    return found, broken


def _direct_url(said: Said, text: str | None) -> None:
    """An editable installation's code lies elsewhere (PEP 610)."""
    if text is None:
        return
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        said.flaws.append("direct_url.json is no JSON")
        return
    if isinstance(content, dict) and isinstance(content.get("dir_info"), dict) and content["dir_info"].get("editable"):
        said.editable = next(_places(str(content.get("url", ""))), "another folder")


def _places(url: str) -> Iterator[str]:
    here = local_place(url)
    if url:
        yield printable(str(here or url))[:_LONGEST]
