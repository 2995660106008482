"""What is uploaded as cubingate is what was checked: wheel and sdist as they are built, and spoiled in each way."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline import __version__
from scripts.check_package import changelog, look, main, sections, tried

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
HEALTHY = f"# Changelog\n\n## Unreleased\n\n### Added\n\n## {__version__} - 2026-12-01\n\n### Added\n- all\n"
WHEEL, SDIST = f"cubingate-{__version__}-py3-none-any.whl", f"cubingate-{__version__}.tar.gz"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once from what is committed to be packed, as the workflow builds it."""
    dist = tmp_path_factory.mktemp("built") / "dist"
    command = [sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return dist


@pytest.fixture
def dist(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "dist"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source tree of this version whose changelog is ready for it."""
    root = tmp_path / "source"
    (root / "pipeline").mkdir(parents=True)
    (root / "pipeline" / "__init__.py").write_text(f'__version__ = "{__version__}"\n')
    (root / "CHANGELOG.md").write_text(HEALTHY)
    return root


@pytest.mark.network
def test_what_is_built_here_may_be_published(dist: Path, source: Path) -> None:
    assert sorted(path.name for path in dist.iterdir()) == sorted([WHEEL, SDIST])
    assert list(look(dist, source, f"v{__version__}")) == []
    assert list(look(dist, ROOT, "")) == []
    assert main([str(dist), "--without-installing"]) == 0


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_works_where_nothing_else_is(dist: Path) -> None:
    assert list(tried(dist)) == []
    changed(dist / WHEEL, "pipeline/policy/tables/codecs.csv", lambda _: None)
    assert any("policy codecs ended with" in complaint for complaint in tried(dist))


def changed(wheel: Path, name: str, change: Callable[[bytes], bytes | None]) -> None:
    """Rewrite one member; ``None`` leaves it out."""
    with zipfile.ZipFile(wheel) as packed:
        members = {each: packed.read(each) for each in packed.namelist()}
    content = change(members.pop(name, b""))
    if content is not None:
        members[name] = content
    with zipfile.ZipFile(wheel, "w") as packed:
        for each, stored in members.items():
            packed.writestr(each, stored)


def changed_source(sdist: Path, name: str, change: Callable[[bytes], bytes | None]) -> None:
    """The same for an sdist."""
    top = f"cubingate-{__version__}/"
    with tarfile.open(sdist) as packed:
        members = {each.name: packed.extractfile(each) for each in packed.getmembers() if each.isfile()}
        contents: dict[str, bytes | None] = {each: file.read() for each, file in members.items() if file}
    contents[top + name] = change(contents.get(top + name) or b"")
    with tarfile.open(sdist, "w:gz", compresslevel=1) as packed:
        for each, stored in contents.items():
            if stored is not None:
                info = tarfile.TarInfo(each)
                info.size = len(stored)
                packed.addfile(info, io.BytesIO(stored))


def other_version(metadata: bytes) -> bytes:
    return re.sub(rb"^Version: .*$", b"Version: 9.9.9", metadata, flags=re.MULTILINE)


def emptied(dist: Path) -> None:
    shutil.rmtree(dist)
    dist.mkdir()


METADATA = f"cubingate-{__version__}.dist-info/METADATA"
SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "wheel of another version": (lambda d: changed(d / WHEEL, METADATA, other_version), "says that it is cubingate 9"),
    "sdist of another version": (lambda d: changed_source(d / SDIST, "PKG-INFO", other_version), "cubingate 9.9.9"),
    "wheel without metadata": (lambda d: changed(d / WHEEL, METADATA, lambda _: None), "says that it is None None"),
    "sdist without metadata": (lambda d: changed_source(d / SDIST, "PKG-INFO", lambda _: None), "it is None None"),
    "another project": (
        lambda d: changed(d / WHEEL, METADATA, lambda text: text.replace(b"Name: cubingate", b"Name: cubingaze")),
        "says that it is cubingaze",
    ),
    "no wheel": (lambda d: (d / WHEEL).unlink(), "not one wheel and one sdist"),
    "two wheels": (lambda d: shutil.copy(d / WHEEL, d / "x-1-py3-none-any.whl"), "not one wheel and one sdist"),
    "a stray file": (lambda d: (d / "notes.txt").touch(), "not one wheel and one sdist"),
    "nothing": (emptied, "holds nothing"),
    "wheel with the tests": (lambda d: changed(d / WHEEL, "tests/values.py", lambda _: b""), "holds tests"),
    "wheel with a key": (lambda d: changed(d / WHEEL, "pipeline/release.pem", lambda _: b""), "holds pipeline/release"),
    "sdist with a key": (lambda d: changed_source(d / SDIST, "docs/release.pem", lambda _: b"x"), "docs/release.pem"),
    "sdist with state": (lambda d: changed_source(d / SDIST, ".cubingate/x", lambda _: b"x"), "holds cubingate-"),
    "wheel without tables": (
        lambda d: changed(d / WHEEL, "pipeline/policy/tables/codecs.csv", lambda _: None),
        "lacks pipeline/policy/tables/codecs.csv",
    ),
    "sdist without a licence": (lambda d: changed_source(d / SDIST, "LICENSE", lambda _: None), "lacks LICENSE"),
    "a page that no index shows": (
        lambda d: changed(d / WHEEL, METADATA, lambda text: text.replace(b"text/markdown", b"text/x-rst")),
        "twine check",
    ),
}


@pytest.mark.network
@pytest.mark.parametrize(("spoil", "said"), SPOILED.values(), ids=SPOILED)
def test_what_is_spoiled_is_named(dist: Path, source: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(dist)
    assert any(said in complaint for complaint in look(dist, source, f"v{__version__}"))


@pytest.mark.network
@pytest.mark.parametrize("tag", ["v9.9.9", __version__, f"v{__version__}.post1", "release"])
def test_a_tag_of_another_version_is_named(dist: Path, source: Path, tag: str) -> None:
    assert f"the tag is {tag}, and pipeline/__init__.py says {__version__}" in list(look(dist, source, tag))


@pytest.mark.network
def test_a_source_of_another_version_is_named(dist: Path, source: Path) -> None:
    (source / "pipeline" / "__init__.py").write_text('__version__ = "9.9.9"\n')
    told = list(look(dist, source, "v9.9.9"))
    assert len([complaint for complaint in told if "pipeline/__init__.py says cubingate 9.9.9" in complaint]) == 2
    assert f"CHANGELOG.md: the newest release is {__version__}, not 9.9.9" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEALTHY.replace("### Added\n\n##", "### Added\n- new\n\n##"), "would be released without being named"),
        (HEALTHY.replace(__version__, "0.0.1"), f"the newest release is 0.0.1, not {__version__}"),
        ("# Changelog\n\n## Unreleased\n", f"the newest release is none, not {__version__}"),
        (HEALTHY.replace(" - 2026-12-01", ""), f"'{__version__}' is no VERSION - YEAR-MONTH-DAY"),
        (HEALTHY.replace("2026-12-01", "2026-13-01"), "is no VERSION - YEAR-MONTH-DAY"),
        (HEALTHY.replace("- all\n", ""), "says nothing"),
        (f"{HEALTHY}\n## Wishes\n- some\n", "'Wishes' is no VERSION"),
    ],
)
def test_a_changelog_that_does_not_name_the_release_is_named(text: str, said: str) -> None:
    assert list(changelog(HEALTHY, __version__, released=True)) == []
    assert any(said in complaint for complaint in changelog(text, __version__, released=True))


def test_between_releases_changes_may_wait() -> None:
    waiting = HEALTHY.replace("### Added\n\n##", "### Added\n- new\n\n##")
    assert list(changelog(waiting, "9.9.9", released=False)) == []
    assert [section.empty for section in sections(waiting)] == [False, False]


def test_the_command_answers_by_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--without-installing"]) == 1
    assert "holds nothing, not one wheel and one sdist" in capsys.readouterr().err
