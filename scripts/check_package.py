"""Hold a built wheel and sdist of cubingate against source, changelog and tag, and try the wheel where nothing else is.

``python scripts/check_package.py DIST [--tag v1.2.3] [--without-installing]``; status 1 with one line for each thing
that is wrong. It changes nothing, and what it was given is what is published: no step builds again.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
NAME = "cubingate"
# What users of the wheel have without a source tree: each needs data that only packing can lose.
COMMANDS = (
    ("--version",),
    ("--help",),
    ("gate", "--self-test"),
    ("policy", "codecs"),
    ("schema",),
    ("explain", "fatbin-codec"),
)
TESTS = ("tests/model", "tests/policy", "tests/gate", "tests/evidence/test_store.py")
"""What of the sdist's tests runs on the installed wheel: no engine, no network, a minute at most."""

TEST_PACKAGES = ("pytest", "pytest-timeout", "hypothesis")
_NEEDED_IN_WHEEL = (
    "pipeline/policy/tables/codecs.csv",
    "pipeline/_shipped/templates/",
    "pipeline/_shipped/dockerfiles/",
)
_NEEDED_IN_SDIST = ("README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "pipeline/__init__.py", "tests/values.py")
_RELEASE = re.compile(
    r"(?P<version>\d+(?:\.\d+)+(?:(?:a|b|rc|\.post|\.dev)\d+)*) - (?P<date>\d{4}-\d{2}-\d{2})", re.ASCII
)
_UNRELEASED = "Unreleased"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the changelog: its heading, and whether anything stands below it."""

    heading: str
    empty: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Look, complain, answer 1 when there was anything to complain of."""
    parser = argparse.ArgumentParser(description="Hold a wheel and an sdist of cubingate against what they claim.")
    parser.add_argument("dist", type=Path, help="folder with exactly one wheel and one sdist")
    parser.add_argument("--tag", default="", help="the tag that is released; empty where none is")
    parser.add_argument("--without-installing", action="store_true", help="only read")
    asked = parser.parse_args(arguments)
    complaints = list(look(asked.dist, ROOT, asked.tag))
    if not complaints and not asked.without_installing:
        complaints = list(tried(asked.dist))
    for complaint in complaints:
        sys.stderr.write(f"check_package: {complaint}\n")
    if not complaints:
        sys.stderr.write(f"check_package: {asked.dist} may be published\n")
    return 1 if complaints else 0


def look(dist: Path, root: Path, tag: str) -> Iterator[str]:
    """Everything that is wrong with the files, as far as reading tells."""
    files = sorted(path.name for path in dist.iterdir())
    wheels, sdists = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    if len(files) != 2 or len(wheels) != 1 or len(sdists) != 1:
        yield f"{dist} holds {', '.join(files) or 'nothing'}, not one wheel and one sdist"
        return
    source = _source_version(root)
    found = [
        *_versions(wheels[0], sdists[0], source, tag),
        *changelog((root / "CHANGELOG.md").read_text(encoding="utf-8"), source, released=bool(tag)),
        *_contents(wheels[0], sdists[0], source),
    ]
    yield from found or _as_an_index_sees(wheels[0], sdists[0])


def _as_an_index_sees(wheel: Path, sdist: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        yield f"twine check: {' '.join((done.stdout + done.stderr).split())}"


def _source_version(root: Path) -> str:
    found = re.search(r'^__version__ = "([^"]+)"$', (root / "pipeline" / "__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("check_package: pipeline/__init__.py names no version")
    return found[1]


def _versions(wheel: Path, sdist: Path, source: str, tag: str) -> Iterator[str]:
    if tag and tag != f"v{source}":
        yield f"the tag is {tag}, and pipeline/__init__.py says {source}"
    for file, text in ((wheel, _wheel_metadata(wheel)), (sdist, _sdist_metadata(sdist, source))):
        metadata = email.message_from_string(text)
        said = (metadata["Name"], metadata["Version"])
        if said != (NAME, source):
            yield f"{file.name} says that it is {said[0]} {said[1]}, and pipeline/__init__.py says {NAME} {source}"


def _wheel_metadata(wheel: Path) -> str:
    """Empty where there is none."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        return packed.read(names[0]).decode() if len(names) == 1 else ""


def _sdist_metadata(sdist: Path, version: str) -> str:
    """Empty where there is none under that version."""
    with tarfile.open(sdist) as packed:
        name = f"{NAME}-{version}/PKG-INFO"
        member = packed.extractfile(name) if name in packed.getnames() else None
        return member.read().decode() if member else ""


def sections(text: str) -> list[Section]:
    """The changelog's parts, newest first."""
    parts = re.split(r"^## +(.*?) *$", text, flags=re.MULTILINE)[1:]
    return [
        Section(heading, empty=not re.sub(r"^#+ .*$", "", body, flags=re.MULTILINE).strip())
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    ]


def changelog(text: str, version: str, *, released: bool) -> Iterator[str]:
    """What the changelog lacks. For a release it names this version first, and nothing is left over for the next."""
    found = sections(text)
    unreleased = [section for section in found if section.heading == _UNRELEASED]
    named = [(section, _RELEASE.fullmatch(section.heading)) for section in found if section not in unreleased]
    for section, match in named:
        if match is None or not _is_date(match["date"]):
            yield f"CHANGELOG.md: {section.heading!r} is no VERSION - YEAR-MONTH-DAY"
        elif section.empty:
            yield f"CHANGELOG.md: {section.heading} says nothing"
    if not released:
        return
    newest = named[0][1] if named else None
    if newest is None or newest["version"] != version:
        yield f"CHANGELOG.md: the newest release is {newest['version'] if newest else 'none'}, not {version}"
    if not all(section.empty for section in unreleased):
        yield f"CHANGELOG.md: changes under {_UNRELEASED} would be released without being named"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _contents(wheel: Path, sdist: Path, version: str) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    tops = {name.partition("/")[0] for name in names}
    foreign = sorted(tops - {"pipeline", f"{NAME}-{version}.dist-info"})
    if foreign:
        yield f"{wheel.name} holds {', '.join(foreign)}"
    yield from (f"{wheel.name} lacks {part}" for part in _NEEDED_IN_WHEEL if not _any(names, part))
    with tarfile.open(sdist) as packed_source:
        inside = packed_source.getnames()
    top = f"{NAME}-{version}/"
    yield from (f"{sdist.name} lacks {part}" for part in _NEEDED_IN_SDIST if top + part not in inside)
    for file, listed in ((wheel, names), (sdist, inside)):
        stray = [name for name in listed if name.endswith((".pyc", ".so", ".key", ".pem")) or "/." in f"/{name}"]
        stray = [name for name in stray if not name.endswith("/.gitignore")]
        if stray:
            yield f"{file.name} holds {', '.join(stray[:3])}"


def _any(names: Sequence[str], part: str) -> bool:
    return any(name.startswith(part) for name in names)


def tried(dist: Path) -> Iterator[str]:
    """What fails when the wheel alone is installed in a new environment, far from its source."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="cubingate-package-") as scratch:
        place = Path(scratch)
        venv.create(place / "venv", with_pip=True)
        python = str(place / "venv" / "bin" / "python")
        packages = [f"{wheel.resolve()}[signing]", *TEST_PACKAGES]
        yield from _complaint(place, [python, "-m", "pip", "install", "--quiet", *packages])
        for command in COMMANDS:
            yield from _complaint(place, [str(place / "venv" / "bin" / NAME), *command])
        tests = _tests_of(sdist, place / "tests-of-sdist")
        options = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath=.", *TESTS]
        yield from _complaint(tests, [python, "-m", "pytest", *options])


def _tests_of(sdist: Path, place: Path) -> Path:
    """The sdist without its package: what the tests import has to be what is installed."""
    with tarfile.open(sdist) as packed:
        packed.extractall(place, filter="data")
    (folder,) = place.iterdir()
    (folder / "pipeline").rename(place / "not-imported")
    return folder


def _complaint(folder: Path, command: Sequence[str]) -> Iterator[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, env=clean, check=False, capture_output=True, text=True)
    if done.returncode:
        told = (done.stdout + done.stderr).strip().splitlines()[-3:]
        yield f"{' '.join([Path(command[0]).name, *command[1:]])} ended with {done.returncode}: {' / '.join(told)}"


if __name__ == "__main__":
    sys.exit(main())
