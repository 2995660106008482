"""Wheels on a real index server (pypiserver): sent once, read back, never replaced."""

from __future__ import annotations

import base64
import hashlib
import socket
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import requests

from pipeline.errors import InfrastructureError, Refused, UsageError
from pipeline.publishers.python_index import PythonIndex
from tests.publishers.test_directory import approved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.gate import Approved

PASSWORD = "pypi-MARKERTOKEN"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that takes uploads from one user, and the folder where it keeps them."""
    folder = tmp_path_factory.mktemp("index")
    packages = folder / "packages"
    packages.mkdir()
    hashed = subprocess.run(["openssl", "passwd", "-apr1", PASSWORD], check=True, capture_output=True, text=True).stdout
    (folder / "users").write_text(f"__token__:{hashed}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port)]
    command += ["-P", str(folder / "users"), "-a", "update", "--disable-fallback", str(packages)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            _await(url)
            yield url, packages
        finally:
            process.kill()


def _await(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            requests.get(url, timeout=1)
        except requests.ConnectionError:
            assert time.monotonic() < deadline, "the index server does not start"
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def index(server: tuple[str, Path]) -> Iterator[PythonIndex]:
    url, packages = server
    yield PythonIndex(f"{url}/", f"{url}/simple/", "__token__", PASSWORD)
    for path in packages.iterdir():
        path.unlink()


def wheel(folder: Path, name: str, content: bytes = b"x = 1\n") -> Approved:
    """A real wheel of one module, approved."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    files = {
        f"{name}.py": content,
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{at},sha256={_digest(data)},{len(data)}" for at, data in files.items()]
    files[f"{name}-1.0.dist-info/RECORD"] = "\n".join([*record, f"{name}-1.0.dist-info/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for at, data in files.items():
            archive.writestr(at, data)
    item = approved(folder, name, path.read_bytes())
    item.artifact.path.replace(path)
    return replace(item, artifact=replace(item.artifact, path=path))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def test_wheels_are_uploaded_and_read_back(server: tuple[str, Path], index: PythonIndex, tmp_path: Path) -> None:
    items = [wheel(tmp_path, "one"), wheel(tmp_path, "two")]
    index.preflight()
    assert index.publish(items) == index.simple_url
    assert {path.name for path in server[1].iterdir()} == {item.artifact.path.name for item in items}
    for item in items:
        assert hashlib.sha256((server[1] / item.artifact.path.name).read_bytes()).hexdigest() == item.artifact.sha256


def test_a_rerun_sends_only_what_is_missing(server: tuple[str, Path], index: PythonIndex, tmp_path: Path) -> None:
    items = [wheel(tmp_path, "one"), wheel(tmp_path, "two")]
    index.publish(items)
    (server[1] / items[1].artifact.path.name).unlink()
    kept = (server[1] / items[0].artifact.path.name).stat().st_mtime_ns
    index.publish(items)
    assert (server[1] / items[0].artifact.path.name).stat().st_mtime_ns == kept
    assert len(list(server[1].iterdir())) == 2


def test_other_bytes_under_the_same_name_stop_everything(
    server: tuple[str, Path], index: PythonIndex, tmp_path: Path
) -> None:
    index.publish([wheel(tmp_path, "two")])
    (tmp_path / "new").mkdir()
    changed = [wheel(tmp_path / "new", "one"), wheel(tmp_path / "new", "two", b"x = 2\n")]
    with pytest.raises(UsageError, match="never replaced"):
        index.publish(changed)
    assert [path.name for path in server[1].iterdir()] == ["two-1.0-py3-none-any.whl"], "nor was the first one sent"


def test_what_is_no_wheel_and_no_wheel_at_all_are_refused(index: PythonIndex, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes wheels"):
        index.publish([approved(tmp_path, "one")])
    with pytest.raises(Refused):
        index.publish([])


def test_a_wrong_token_is_named_and_not_told(index: PythonIndex, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"answers 40[13]") as caught:
        replace(index, password="pypi-WRONG").publish([wheel(tmp_path, "one")])
    assert "WRONG" not in f"{caught.value} {caught.value.__cause__!r} {caught.value.remedy}"


def test_where_it_was_published_is_said_without_a_password(index: PythonIndex, tmp_path: Path) -> None:
    host = index.simple_url.removeprefix("http://")
    secret = replace(index, simple_url=f"http://somebody:MARKER@{host}")
    assert secret.publish([wheel(tmp_path, "one")]) == index.simple_url


def test_an_index_that_is_not_there_is_infrastructure(index: PythonIndex, tmp_path: Path) -> None:
    gone = replace(index, simple_url="http://127.0.0.1:9/simple/")
    for step in (gone.preflight, lambda: gone.publish([wheel(tmp_path, "one")])):
        with pytest.raises(InfrastructureError, match="cannot be reached"):
            step()
