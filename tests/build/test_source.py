"""Sources by digest: from disk, git, a registry and the web; a wrong digest or a hostile archive stops everything."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from pipeline.build.settings import Network
from pipeline.build.source import describe, fetch_prebuilt, fetch_tree, prebuilt_name, source_digest
from pipeline.errors import CorruptInput, ExitStatus, InfrastructureError, UsageError
from pipeline.model.lane import (
    BuildSource,
    GitSource,
    PathSource,
    PrebuiltFile,
    PrebuiltSource,
    PrebuiltUrl,
    PrebuiltWheel,
    SdistSource,
)
from tests.build.web import Site, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHEEL = "server-1.0-py3-none-any.whl"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as started:
        yield started


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sdist(members: dict[str, bytes] | None = None, *, extra: tarfile.TarInfo | None = None) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in (members or {"server-1.0/src/a.c": b"int a;\n"}).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        if extra is not None:
            tar.addfile(extra)
    return stream.getvalue()


class Fetching:
    """The functions under test with a cache of their own."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.cache = folder / "cache"
        self.cache.mkdir()
        self.folder = folder
        self.network = Network(index_url=f"{site.url}/simple/", timeout=5)
        self.runs = 0

    def tree(self, source: BuildSource) -> Path:
        self.runs += 1
        scratch = self.folder / f"scratch{self.runs}"
        scratch.mkdir()
        return fetch_tree(source, scratch, self.cache, self.network, lambda _: None)

    def prebuilt(self, source: PrebuiltSource) -> Path:
        return fetch_prebuilt(source, self.cache, self.network, lambda _: None)

    def kept(self) -> list[str]:
        return sorted(path.name for path in self.cache.rglob("*") if path.is_file())


@pytest.fixture
def fetching(tmp_path: Path, site: Site) -> Fetching:
    return Fetching(tmp_path, site)


def test_a_source_archive_is_fetched_once(site: Site, fetching: Fetching) -> None:
    content = _sdist()
    site.add_project("server", {"server-1.0.tar.gz": content, "server-0.9.tar.gz": b"older", WHEEL: b"wheel"})
    source = SdistSource("server", "1.0", _sha256(content), "src")
    assert (fetching.tree(source) / "a.c").read_text() == "int a;\n"
    asked = len(site.asked)
    assert (fetching.tree(source) / "a.c").read_text() == "int a;\n"
    assert len(site.asked) == asked
    assert fetching.kept() == [_sha256(content)]


def test_a_damaged_cache_is_fetched_again(site: Site, fetching: Fetching) -> None:
    content = _sdist()
    site.add_project("server", {"server-1.0.tar.gz": content})
    source = SdistSource("server", "1.0", _sha256(content), "src")
    fetching.tree(source)
    (fetching.cache / "sha256" / _sha256(content)).write_bytes(b"damaged")
    assert (fetching.tree(source) / "a.c").is_file()


def test_a_registry_that_declares_another_digest(site: Site, fetching: Fetching) -> None:
    site.add_project("server", {"server-1.0.tar.gz": _sdist()})
    with pytest.raises(CorruptInput, match=r"on the registry: declared sha256 0000.*, observed") as failure:
        fetching.tree(SdistSource("server", "1.0", "0" * 64))
    assert failure.value.status is ExitStatus.CORRUPT_INPUT
    assert fetching.kept() == []


def test_a_registry_that_lies_about_its_bytes(site: Site, fetching: Fetching) -> None:
    site.add_project("server", {"server-1.0.tar.gz": _sdist()}, digests={"server-1.0.tar.gz": "0" * 64})
    with pytest.raises(CorruptInput, match="declared sha256 0000"):
        fetching.tree(SdistSource("server", "1.0", "0" * 64))
    assert fetching.kept() == []


@pytest.mark.parametrize(
    ("package", "version", "message"),
    [("none", "1.0", "no project none"), ("server", "2.0", "no source archive of server 2.0")],
)
def test_what_the_registry_does_not_have(
    site: Site, fetching: Fetching, package: str, version: str, message: str
) -> None:
    site.add_project("server", {"server-1.0.tar.gz": _sdist()})
    with pytest.raises(InfrastructureError, match=message):
        fetching.tree(SdistSource(package, version, "0" * 64))


def test_a_folder_that_the_archive_does_not_have(site: Site, fetching: Fetching) -> None:
    content = _sdist()
    site.add_project("server", {"server-1.0.tar.gz": content})
    for folder in ("none", "../.."):
        with pytest.raises(UsageError, match="has no folder"):
            fetching.tree(SdistSource("server", "1.0", _sha256(content), folder))


def _link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def _device(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = tarfile.CHRTYPE
    return member


@pytest.mark.parametrize(
    "content",
    [
        _sdist({"server-1.0/a": b"a", "../outside": b"b"}),
        _sdist({"server-1.0/a": b"a", "/outside": b"b"}),
        _sdist(extra=_link("server-1.0/out", "../../outside")),
        _sdist(extra=_link("server-1.0/out", "/etc/passwd")),
        _sdist(extra=_device("server-1.0/null")),
        _sdist()[:-20],
        b"not an archive",
    ],
    ids=["dots", "absolute", "link", "absolute link", "device", "truncated", "rubbish"],
)
def test_a_hostile_or_damaged_archive(site: Site, fetching: Fetching, content: bytes) -> None:
    site.add_project("server", {"server-1.0.tar.gz": content})
    with pytest.raises(CorruptInput):
        fetching.tree(SdistSource("server", "1.0", _sha256(content)))
    assert not (fetching.folder / "outside").exists()


@pytest.mark.parametrize("kind", ["wheel", "url", "file"])
def test_a_finished_bundle_is_taken_as_it_is(site: Site, fetching: Fetching, kind: str) -> None:
    content = b"a finished bundle"
    assert fetching.prebuilt(_prebuilt(site, fetching, kind, content, _sha256(content))).read_bytes() == content


@pytest.mark.parametrize("kind", ["wheel", "url", "file"])
def test_a_finished_bundle_of_another_digest(site: Site, fetching: Fetching, kind: str) -> None:
    with pytest.raises(CorruptInput, match="declared sha256 0000"):
        fetching.prebuilt(_prebuilt(site, fetching, kind, b"another", "0" * 64))
    assert fetching.kept() == []


def _prebuilt(site: Site, fetching: Fetching, kind: str, content: bytes, sha256: str) -> PrebuiltSource:
    match kind:
        case "wheel":
            site.add_project("server", {WHEEL: content})
            return PrebuiltWheel("server", "1.0", WHEEL, sha256)
        case "url":
            site.files["/b.tar.gz"] = content
            return PrebuiltUrl(f"{site.url}/b.tar.gz", sha256)
        case _:
            (fetching.folder / "b.tar.gz").write_bytes(content)
            return PrebuiltFile(fetching.folder / "b.tar.gz", sha256)


@pytest.mark.parametrize(
    ("url", "message"),
    [("{site}/none", "answers status 404"), ("http://127.0.0.1:1/x", "cannot reach http://127.0.0.1:1/x")],
)
def test_what_cannot_be_downloaded(site: Site, fetching: Fetching, url: str, message: str) -> None:
    with pytest.raises(InfrastructureError, match=message) as failure:
        fetching.prebuilt(PrebuiltUrl(url.format(site=site.url), "0" * 64))
    assert "\n" not in str(failure.value)
    assert fetching.kept() == []


def test_a_download_that_breaks_off_leaves_nothing(site: Site, fetching: Fetching) -> None:
    content = bytes(1 << 16)
    site.files["/b"] = content
    site.cut = 100
    with pytest.raises(InfrastructureError, match="cannot reach"):
        fetching.prebuilt(PrebuiltUrl(f"{site.url}/b", _sha256(content)))
    assert fetching.kept() == []


def test_credentials_are_not_repeated(fetching: Fetching) -> None:
    with pytest.raises(InfrastructureError) as failure:
        fetching.prebuilt(PrebuiltUrl("http://me:secret@127.0.0.1:1/x?token=secret", "0" * 64))
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize("path", ["", "a/", "..", "%2e%2e", "a%2F..%2F..%2F.hidden", "a%0Ab"])
def test_names_that_no_bundle_should_have(path: str) -> None:
    with pytest.raises(UsageError, match="file name"):
        prebuilt_name(PrebuiltUrl(f"https://example.org/{path}", "0" * 64))


def test_a_local_folder_is_used_where_it_is(tmp_path: Path, fetching: Fetching) -> None:
    folder = tmp_path / "src"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.c").write_text("int a;\n")
    digest = source_digest(PathSource(folder))
    assert fetching.tree(PathSource(folder)) == folder
    assert describe(PathSource(folder)) == {"kind": "path", "sha256": digest}
    (folder / ".git/HEAD").write_text("moved")
    (folder / ".cubingate/cache").mkdir(parents=True)
    (folder / ".cubingate/cache/log").write_text("what an earlier run left here")
    assert source_digest(PathSource(folder, digest)) == digest
    (folder / "a.c").chmod(0o755)
    assert source_digest(PathSource(folder)) != digest
    with pytest.raises(CorruptInput, match="declared sha256"):
        source_digest(PathSource(folder, digest))


def test_a_local_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot read"):
        source_digest(PathSource(tmp_path / "none"))


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.c").write_text("int a;\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return folder, commit.stdout.strip()


def test_a_git_source_is_fetched_once(fetching: Fetching, repository: tuple[Path, str]) -> None:
    folder, commit = repository
    source = GitSource(folder.as_uri(), "v1", commit)
    assert (fetching.tree(source) / "a.c").read_text() == "int a;\n"
    folder.rename(folder.with_name("away"))
    tree = fetching.tree(source)
    assert sorted(path.name for path in tree.iterdir()) == ["a.c"]
    assert source_digest(source) == commit


def test_a_ref_that_moved(fetching: Fetching, repository: tuple[Path, str]) -> None:
    folder, commit = repository
    with pytest.raises(CorruptInput, match=f"declared commit {'0' * 40}, observed {commit}"):
        fetching.tree(GitSource(folder.as_uri(), "v1", "0" * 40))


@pytest.mark.parametrize("ref", ["none", "--upload-pack=touch /x"])
def test_a_ref_that_is_not_there(fetching: Fetching, repository: tuple[Path, str], ref: str) -> None:
    with pytest.raises(InfrastructureError, match="git fetch: "):
        fetching.tree(GitSource(repository[0].as_uri(), ref, "0" * 40))
