"""Lock files: requirements in pip's format (pip-compile and uv write it too) and pylock.toml, as pins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement

from pipeline.environments.metadata import normalized
from pipeline.environments.pins import Candidate, LockFile, Pin, file_name, local_place, unheld
from pipeline.environments.pylock import is_pylock, read_pylock
from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HASH = re.compile(r"\s--hash[=\s]+(\w+):([0-9a-fA-F]+)", re.ASCII)
_OF_URL = re.compile(r"(?:^|&)sha256=([0-9a-fA-F]+)", re.ASCII)
_OTHER_OPTION = re.compile(r"\s--(?:config-settings?|global-option|build-option)[=\s].*", re.ASCII)
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_OPTION = re.compile(r"(--?[a-zA-Z][a-zA-Z-]*)(?:[=\s]\s*(.*))?")
_INDEX, _EXTRA, _LINKS = ("-i", "--index-url", "--pypi-url"), ("--extra-index-url",), ("-f", "--find-links")
_INCLUDE, _EDITABLE, _NO_INDEX = ("-r", "--requirement"), ("-e", "--editable"), ("--no-index",)
_SOURCE, _BINARY, _ALL, _NONE = "--no-binary", "--only-binary", ":all:", ":none:"
_LARGEST = 32 << 20
_DEEPEST = 8
_RESOLVE = "resolve it first, as `pip-compile --generate-hashes` or `uv pip compile --generate-hashes` does"


@dataclass(slots=True)
class _Reading:
    """A lock file while its lines are read."""

    pins: list[Pin] = field(default_factory=list)
    index: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    built: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    no_index: bool = False

    def unbuilt(self, pin: Pin) -> Pin:
        """The pin, or that it is built from source because ``--no-binary`` says so."""
        named = pin.name in self.built or (_ALL in self.built and pin.name not in self.taken)
        if pin.candidates or pin.unread or not named:
            return pin
        return replace(pin, unread=f"{_SOURCE} has it built from source where it is installed")


def read_lock(path: Path) -> LockFile:
    """Every pin of the file and what it says about indexes; ``UsageError`` with the line where it is no lock file."""
    text = _text(path)
    if is_pylock(text):
        return read_pylock(path, text)
    reading = _Reading()
    _requirements(path, text, reading, depth=0)
    if not reading.pins:
        raise UsageError(f"{path}: no distribution is pinned in it", remedy=_RESOLVE)
    return LockFile(
        tuple(map(reading.unbuilt, reading.pins)),
        tuple(reading.index),
        tuple(reading.extra),
        tuple(reading.folders),
        reading.no_index,
        tuple(reading.pages),
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            raw = stream.read(_LARGEST + 1)
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror}") from error
    if len(raw) > _LARGEST:
        raise UsageError(f"{path}: more than {_LARGEST} bytes are no lock file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error


def _requirements(path: Path, text: str, reading: _Reading, *, depth: int) -> None:
    for number, line in _logical(text):
        option = _OPTION.fullmatch(line) if line.startswith("-") else None
        if option is None:
            reading.pins.append(_pin(path, number, line))
        elif option[1] in _INCLUDE:
            _include(path, number, (option[2] or "").strip(), reading, depth)
        elif option[1] in _EDITABLE:
            what = (option[2] or "").strip()[:200]
            reading.pins.append(Pin(file_name(what) or "editable", "", unread=f"{what} is an editable installation"))
        else:
            _option(path, option[1], (option[2] or "").strip(), reading)


def _option(path: Path, name: str, value: str, reading: _Reading) -> None:
    if name in _INDEX:
        reading.index[:] = [value]
    elif name in _EXTRA:
        reading.extra.append(value)
    elif name in _NO_INDEX:
        reading.no_index = True
    elif name in _LINKS:
        here = local_place(value) or (None if "://" in value else Path(value))
        if here is None:
            reading.pages.append(value)
        else:
            reading.folders.append(path.parent / here)
    elif name == _SOURCE:
        _choose(value, reading.built, reading.taken)
    elif name == _BINARY:
        _choose(value, reading.taken, reading.built)


def _choose(value: str, wanted: set[str], other: set[str]) -> None:
    """As pip reads them: each option takes back what the other one said of the same names."""
    for name in (part.strip() for part in value.split(",")):
        if name == _NONE:
            wanted.clear()
        elif name == _ALL:
            other.clear()
            wanted.clear()
            wanted.add(_ALL)
        elif name:
            wanted.add(normalized(name))
            other.discard(normalized(name))


def _include(path: Path, number: int, name: str, reading: _Reading, depth: int) -> None:
    inner = path.parent / name
    if depth >= _DEEPEST:
        raise UsageError(f"{path}:{number}: files that include each other more than {_DEEPEST} deep")
    if not name or not inner.is_file():
        raise UsageError(f"{path}:{number}: there is no file {inner}")
    _requirements(inner, _text(inner), reading, depth=depth + 1)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, those that end in a backslash joined, each with the number of its first."""
    parts: list[str] = []
    first = 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        first = first if parts else number
        goes_on = raw.endswith("\\") and not _COMMENT.search(raw)
        parts.append(raw[:-1] if goes_on else _COMMENT.sub("", raw))
        if goes_on:
            continue
        line = " ".join(parts).strip()
        parts = []
        if line:
            yield first, line


def _pin(path: Path, number: int, line: str) -> Pin:
    pinned = _HASH.findall(line)
    hashes = frozenset(digest.lower() for kind, digest in pinned if kind.lower() == "sha256")
    pin = _asked(path, number, _OTHER_OPTION.sub("", _HASH.sub("", f"{line} ")).strip(), hashes)
    why = unheld(kind for kind, _ in pinned)
    return replace(pin, unread=why) if why else pin


def _asked(path: Path, number: int, text: str, hashes: frozenset[str]) -> Pin:
    if text.partition(";")[0].strip().endswith(".whl") and " @ " not in text:
        return _local(path, text, hashes)
    try:
        asked = Requirement(text)
    except InvalidRequirement as error:
        said = str(error).splitlines()[0]
        raise UsageError(f"{path}:{number}: {text[:200]!r} is no requirement: {said}", remedy=_RESOLVE) from None
    marker = str(asked.marker) if asked.marker is not None else ""
    if asked.url is not None:
        return _direct(path, asked.name, asked.url, marker, hashes)
    exact = [item.version for item in asked.specifier if item.operator in {"==", "==="} and "*" not in item.version]
    if not exact:
        raise UsageError(f"{path}:{number}: {text[:200]!r} is not pinned to one version", remedy=_RESOLVE)
    return Pin(normalized(asked.name), exact[0], hashes, marker)


def _direct(path: Path, name: str, url: str, marker: str, hashes: frozenset[str]) -> Pin:
    """``name @ URL``: a wheel by itself; anything else would have to be built."""
    plain, _, fragment = url.partition("#")
    hashes = hashes or frozenset(digest.lower() for digest in _OF_URL.findall(fragment))
    file = file_name(plain)
    if not file.endswith(".whl"):
        return Pin(normalized(name), "", hashes, marker, unread=f"{plain[:200]} would have to be built")
    here = local_place(plain)
    candidate = Candidate(
        file, "" if here is not None else plain, "", (path.parent / here) if here is not None else None
    )
    return Pin(normalized(name), file.split("-")[1] if file.count("-") > 1 else "", hashes, marker, (candidate,))


def _local(path: Path, text: str, hashes: frozenset[str]) -> Pin:
    name, _, marker = text.partition(";")
    if ":/" in name:
        return _direct(path, file_name(name.strip()).partition("-")[0], name.strip(), marker.strip(), hashes)
    place = path.parent / name.strip()
    parts = place.name.split("-")
    version = parts[1] if len(parts) > 1 else ""
    return Pin(normalized(parts[0]), version, hashes, marker.strip(), (Candidate(place.name, "", "", place),))
