"""Lock files: parsed as pip parses them, resolved as pip resolves them, streamed and held against their digests."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from pipeline.build.settings import Network
from pipeline.cli import run
from pipeline.environments import distributions_of
from pipeline.environments.lock import read_lock
from pipeline.environments.resolve import LockSettings, read_locked
from pipeline.environments.wheels import Installer
from pipeline.errors import CorruptInput, ExitStatus, InfrastructureError, UsageError
from pipeline.inventory import take_inventory
from pipeline.inventory.lock_files import may_be_lock
from tests import toolchain
from tests.build.web import Site, serving
from tests.environments.places import Package, wheel
from tests.rules.forge import Elf, container

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.formats.facts import Inventory

pytestmark = pytest.mark.network
HERE = Installer((3, 11), "x86_64")


TOML = """lock-version = "1.0"
default-groups = ["serve"]
[[packages]]
name = "product"
version = "1.2"
marker = "'serve' in dependency_groups and 'cu126' not in extras"
wheels = [{path = '{1}', hashes = {sha512 = '{0}'}}]
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = Package("product", "1.2", [Elf("libk.so", [container("12.8", "80"), container("12.8", "80 ptx:90")])])
    return wheel(tmp_path_factory.mktemp("product"), package)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def written(folder: Path, text: str, name: str = "requirements.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def resolved(path: Path, site: Site | None = None, installer: Installer = HERE) -> Inventory:
    network = Network(index_url=f"{site.url}/simple/" if site is not None else "http://127.0.0.1:9/simple/", timeout=5)
    return read_locked(path, LockSettings(installer, network, lambda _line: None))


# the same facts as from the wheel itself


def test_a_pin_is_streamed_from_the_index(tmp_path: Path, site: Site, product: Path) -> None:
    site.add_project("product", {product.name: product.read_bytes()})
    lock = written(tmp_path, f"product==1.2 \\\n    --hash=sha256:{sha256(product)}  # via -r requirements.in\n")
    streamed, whole = resolved(lock, site), take_inventory(product)
    assert [item.entries for item in streamed.fatbins] == [item.entries for item in whole.fatbins]
    assert [item.label for item in distributions_of(streamed)] == ["product 1.2"]
    assert streamed.damage == ()
    assert not list(tmp_path.glob("*.whl"))


def test_nvidias_own_wheel_is_read_as_a_stream(tmp_path: Path, site: Site) -> None:
    path = toolchain.wheel("nvidia-cuda-runtime==13.0.96")
    site.add_project("nvidia-cuda-runtime", {path.name: path.read_bytes()})
    streamed = resolved(written(tmp_path, "nvidia-cuda-runtime==13.0.96\n"), site)
    assert [elf.soname for elf in streamed.elves] == [elf.soname for elf in take_inventory(path).elves]


def test_a_folder_and_a_local_wheel_need_no_index(tmp_path: Path, product: Path) -> None:
    links = f"--no-index\n--find-links {product.parent}\nproduct==1.2\n"
    assert resolved(written(tmp_path, links)).fatbins
    assert resolved(written(tmp_path, f"product @ file://{product}\n")).fatbins
    assert resolved(written(tmp_path, f"{product}\n")).fatbins


def test_show_reads_a_lock_and_a_rehearsal_does_not(
    tmp_path: Path, product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = str(written(tmp_path, f"{product}\n"))
    assert run(["show", lock]) == ExitStatus.PASS
    assert "sm_80 " in capsys.readouterr().out
    assert run(["audit", lock, "--target", "90@580", "--rehearse"]) == ExitStatus.USAGE
    assert "needs the wheels themselves" in capsys.readouterr().err


def test_pylock_names_its_files(tmp_path: Path, product: Path) -> None:
    row = f'{{path = "{product}", hashes = {{sha256 = "{sha256(product)}"}}}}'
    text = f'lock-version = "1.0"\n[[packages]]\nname = "product"\nversion = "1.2"\nwheels = [{row}]\n'
    assert resolved(written(tmp_path, text, "pylock.toml")).fatbins
    with pytest.raises(CorruptInput, match="pinned sha256"):
        resolved(written(tmp_path, text.replace(sha256(product), "0" * 64), "pylock.toml"))


# what is not what was pinned


def test_a_digest_that_the_index_does_not_have_is_refused(tmp_path: Path, site: Site, product: Path) -> None:
    site.add_project("product", {product.name: product.read_bytes()})
    with pytest.raises(CorruptInput, match="none of 1 files has a digest that the lock pins"):
        resolved(written(tmp_path, f"product==1.2 --hash=sha256:{'0' * 64}\n"), site)


def test_bytes_that_are_not_what_the_index_says_are_refused(tmp_path: Path, site: Site, product: Path) -> None:
    site.add_project("product", {product.name: product.read_bytes()}, digests={product.name: "0" * 64})
    lock = written(tmp_path, f"product==1.2 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(CorruptInput, match="observed"):
        resolved(lock, site)


def test_a_download_that_breaks_off_is_no_verdict(tmp_path: Path, site: Site, product: Path) -> None:
    site.add_project("product", {product.name: product.read_bytes()})
    lock = written(tmp_path, "product==1.2\n")
    assert resolved(lock, site).fatbins
    site.files["/simple/product/"] += b" " * 64  # the page itself must survive
    site.cut = 64
    with pytest.raises(InfrastructureError):
        resolved(lock, site)


def test_offline_is_status_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    lock = written(tmp_path, "product==1.2\n")
    assert run(["audit", str(lock), "--target", "80@570"]) == ExitStatus.INFRASTRUCTURE


# what cannot be read is named


def test_a_source_archive_is_named_and_not_judged(
    tmp_path: Path, site: Site, product: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.add_project("product", {product.name: product.read_bytes()})
    site.add_project("old", {"old-1.0.tar.gz": b"source"})
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple/")
    healthy = written(tmp_path, "product==1.2\n", "healthy.txt")
    lock = written(tmp_path, "product==1.2\nold==1.0\n")
    assert run(["audit", str(healthy), "--target", "80@570"]) == ExitStatus.PASS
    assert run(["audit", str(lock), "--target", "80@570"]) == ExitStatus.REFUSED
    assert "old 1.0: it has only a source archive (old-1.0.tar.gz)" in capsys.readouterr().out


def test_wheels_for_other_machines_are_named_and_not_judged(tmp_path: Path, site: Site) -> None:
    site.add_project(
        "other", {"other-1.0-cp311-cp311-win_amd64.whl": b"", "other-1.0-cp312-cp312-linux_x86_64.whl": b""}
    )
    (item,) = distributions_of(resolved(written(tmp_path, "other==1.0\n"), site))
    assert "no wheel is for this Python and machine, of other-1.0-cp311-cp311-win_amd64.whl" in item.unread[0]


def test_an_editable_requirement_is_named(tmp_path: Path, product: Path) -> None:
    lock = written(tmp_path, f"--find-links {product.parent}\n--no-index\nproduct==1.2\n-e ./src/app\n")
    (app, _) = distributions_of(resolved(lock))
    assert "./src/app is an editable installation" in app.unread[0]


@pytest.mark.parametrize(
    ("options", "built"),
    [
        ("--no-binary product", True),
        ("--no-binary=:all:", True),
        ("--no-binary :all:\n--only-binary Product", False),
        ("--no-binary product\n--no-binary :none:", False),
        ("--no-binary other", False),
        ("--only-binary :all:", False),
    ],
)
def test_what_is_built_from_source_is_not_its_wheel(tmp_path: Path, product: Path, options: str, built: bool) -> None:
    lock = written(tmp_path, f"--no-index\n--find-links {product.parent}\n{options}\nproduct==1.2\n")
    (item,) = distributions_of(resolved(lock))
    assert ("--no-binary has it built" in "".join(item.unread)) is built


@pytest.mark.parametrize("pinned", ["product==1.2 --hash=sha512:{0} ; os_name == 'posix'", TOML], ids=["pip", "pylock"])
def test_a_digest_of_another_kind_holds_nothing(tmp_path: Path, product: Path, pinned: str) -> None:
    text = pinned.replace("{0}", "0" * 128).replace("{1}", str(product))
    if pinned != TOML:
        text = f"--no-index\n--find-links {product.parent}\n{text}\n"
    (item,) = distributions_of(resolved(written(tmp_path, text, "pylock.toml" if pinned == TOML else "lock.txt")))
    assert "pinned by sha512 and not by sha256" in item.unread[0]


def test_a_pylock_names_no_file_without_saying_where_it_is(tmp_path: Path, product: Path) -> None:
    text = TOML.replace("path = '{1}'", f"name = '{product.name}'").replace("{0}", "0")
    (item,) = distributions_of(resolved(written(tmp_path, text, "pylock.toml")))
    assert item.unread == ("it has no file",)


# where files are


def test_files_of_this_machine_by_their_urls(tmp_path: Path) -> None:
    local = wheel(tmp_path, Package("product", "1.2+cu126", files={"product/a.py": ""}))
    url = f"file://{local}".replace("+", "%2B")
    pylock = TOML.replace("path = '{1}'", f"url = '{url}'").replace("sha512 = '{0}'", f"sha256 = '{sha256(local)}'")
    for text in (
        f"product @ {url}\n",
        f"product @ {url.replace('file://', 'file://localhost')}#sha256={sha256(local)}&egg=product\n",
        f"{url}\n",
        pylock,
    ):
        (item,) = distributions_of(resolved(written(tmp_path, text, "pylock.toml" if text is pylock else "lock.txt")))
        assert item.label == "product 1.2+cu126"


def test_a_page_of_links_has_what_pip_would_take(tmp_path: Path, site: Site) -> None:
    """As extensions of torch are published; the index has another build of the same version."""
    builds = {local: wheel(tmp_path, Package("product", f"1.2{local}", files={"a.py": ""})) for local in ("", "+pt28")}
    site.add_project("product", {builds[""].name: builds[""].read_bytes()})
    site.files[f"/whl/{builds['+pt28'].name}"] = builds["+pt28"].read_bytes()
    link = builds["+pt28"].name.replace("+", "%2B")
    site.files["/whl/page.html"] = f'<!DOCTYPE html><a href="{link}">x</a>'.replace("<a", "<body><a").encode()
    site.files[f"/whl/{link}"] = builds["+pt28"].read_bytes()
    (item,) = distributions_of(resolved(written(tmp_path, f"-f {site.url}/whl/page.html\nproduct==1.2\n"), site))
    assert item.label == "product 1.2+pt28"
    with pytest.raises(InfrastructureError):
        resolved(written(tmp_path, f"-f {site.url}/absent.html\nproduct==1.2\n"), site)


def test_a_url_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot reach"):
        resolved(written(tmp_path, "product @ https://[::1/product-1.2-py3-none-any.whl\n"))


# what would be installed: pip's own choice

FILES = (
    "p-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "p-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    "p-1.0-cp311-cp311-manylinux_2_28_aarch64.whl",
    "p-1.0-cp39-abi3-manylinux_2_34_x86_64.whl",
    "p-1.0-cp311-cp311-musllinux_1_2_x86_64.whl",
    "p-1.0-py3-none-any.whl",
)


@pytest.mark.parametrize(
    ("installer", "chosen"),
    [
        (Installer((3, 11), "x86_64"), FILES[1]),
        (Installer((3, 11), "x86_64", (2, 17)), FILES[0]),
        (Installer((3, 11), "aarch64"), FILES[2]),
        (Installer((3, 12), "x86_64"), FILES[3]),
        (Installer((3, 12), "x86_64", (2, 31)), FILES[5]),
        (Installer((3, 8), "riscv64"), FILES[5]),
    ],
)
def test_the_wheel_that_fits_best(installer: Installer, chosen: str) -> None:
    assert installer.best(FILES) == chosen


def test_a_pin_without_local_version_takes_the_newest_of_them(tmp_path: Path, site: Site) -> None:
    """The mix-up: one more index, and ``torch==2.9.0`` is the build for CUDA 13."""
    files = {}
    for version in ("2.9.0+cu126", "2.9.0+cu130"):
        path = wheel(tmp_path, Package("torch", version, files={"torch/version.py": ""}))
        files[path.name] = path.read_bytes()
    site.add_project("torch", files)
    (loose,) = distributions_of(resolved(written(tmp_path, "torch==2.9.0\n"), site))
    (pinned,) = distributions_of(resolved(written(tmp_path, "torch==2.9.0+cu126\n"), site))
    assert (loose.version, pinned.version) == ("2.9.0+cu130", "2.9.0+cu126")


def test_markers_are_those_of_the_target_not_of_this_machine(tmp_path: Path, product: Path) -> None:
    text = (
        f"--no-index\n--find-links {product.parent}\nproduct==1.2 ; sys_platform == 'linux'\nwin==1 ; os_name == 'nt'\n"
    )
    lock = written(tmp_path, f"{text}old==1 ; python_version < '3.10'\n")
    assert [item.name for item in distributions_of(resolved(lock))] == ["product"]
    assert [item.name for item in distributions_of(resolved(lock, None, Installer((3, 9), "x86_64")))] == [
        "old",
        "product",
    ]


# what is no lock file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("torch==2.8.0\nnumpy>=1.26\n", ":2: 'numpy>=1.26' is not pinned"),
        ("torch==2.8.0\nnumpy\n", ":2: 'numpy' is not pinned"),
        ("torch==2.8.*\n", ":1: 'torch==2.8.*' is not pinned"),
        ("torch==2.8.0\n???\n", ":2: '???' is no requirement"),
        ("torch==2.8.0\n-r absent.txt\n", ":2: there is no file"),
        ("torch==2.8.0\n-r requirements.txt\n", "include each other"),
        ("torch==2.8.0 ; nonsense == 1\n", "is no requirement"),
        ("version = 1\n[[package]]\nname = 'torch'\n", "not a pylock.toml"),
        ("lock-version = '2.0'\n[[packages]]\nname = 'torch'\n", "lock-version '2.0' is not 1.x"),
        (f"[[packages]]\nx = {'[' * 100_000}\n", "requirements.txt: "),
        ("lock-version = '1.0'\n[[packages]\n", "requirements.txt"),
    ],
)
def test_what_is_no_lock_file_is_a_usage_error(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read_lock(path)
    assert said in refused.value.message


def test_only_text_with_a_pin_in_it_may_be_a_lock(tmp_path: Path) -> None:
    assert may_be_lock(written(tmp_path, "# made by a tool\ntorch==2.8.0\n"))
    assert may_be_lock(written(tmp_path, "torch[x]==2.8.0+cu126 --hash=sha256:0\n"))
    assert not may_be_lock(written(tmp_path, "All about torch, which is fast.\nx = y == z\n"))
    assert not may_be_lock(written(tmp_path, "torch==2.8.0\n", "kernel.ptx"))
    (tmp_path / "binary.txt").write_bytes(b"torch==2.8.0\n\0")
    assert not may_be_lock(tmp_path / "binary.txt")
