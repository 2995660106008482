"""Images that a real engine made: their file systems are those of containers made from them."""

from __future__ import annotations

import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from pipeline.engine.saved_image import SavedImage
from pipeline.errors import UsageError
from pipeline.inventory import take_inventory
from tests.formats.artifacts import Library, link
from tests.inventory.test_image import rootfs
from tests.toolchain import cubin_image, nvfatbin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.engine.base_image import ReadyImage

pytestmark = [pytest.mark.docker, pytest.mark.network]
NAME = "cubingate-test/layers:engine"
OF_THE_CONTAINER = {".dockerenv", "etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab", "dev/console"}
"""What the engine puts into every container."""

DOCKERFILE = """\
FROM {base}
COPY libk.so libgone.so /usr/lib/fixture/
RUN cd /usr/lib/fixture && ln libgone.so liblinked.so && ln -s libk.so libk.so.1 && cp libk.so libnew.so \\
 && mkdir -p opaque/deep && cp libk.so opaque/deep/ && mknod node c 1 3 && mkfifo pipe && ln -s / away
RUN cd /usr/lib/fixture && rm libgone.so && rm -r opaque && mkdir opaque && cp libk.so opaque/again.so \\
 && rm libnew.so && mkdir libnew.so && rm -rf /usr/share/doc /usr/share/man
RUN rm /usr/lib/fixture/libk.so && echo words > /usr/lib/fixture/libk.so
ENV NVIDIA_REQUIRE_CUDA="cuda>=12.8" WITH="a=b c"
LABEL com.example.floor=12.8
"""


@pytest.fixture(scope="module")
def library() -> bytes:
    return link(Library(fatbins=(nvfatbin("13.0", [cubin_image("13.0", "scale", "80")], mode="size"),)))


@pytest.fixture(scope="module")
def image(base: ReadyImage, library: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    context = tmp_path_factory.mktemp("context")
    (context / "Dockerfile").write_text(DOCKERFILE.format(base=base.reference))
    for name in ("libk.so", "libgone.so"):
        (context / name).write_bytes(library)
    docker("build", "-q", "-t", NAME, str(context))
    yield NAME
    docker("rmi", "-f", NAME)


@pytest.fixture(scope="module")
def archive(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "image.tar"
    docker("save", "-o", str(path), image)
    return path


@pytest.fixture(scope="module")
def exported(image: str) -> dict[str, str]:
    """The file system of a container that is made and never started, in the words of ``rootfs``."""
    container = docker("create", image, "/never").strip()
    try:
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                return {member.name: _kind(member) for member in tar if not member.isdir()}
    finally:
        docker("rm", container)


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym():
        return f"l {member.linkname}"
    return "s" if member.isdev() else "f"


def docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_file_system_is_that_of_a_container(archive: Path, exported: dict[str, str]) -> None:
    inventory = take_inventory(archive)
    assert inventory.damage == ()
    mine = rootfs(inventory)
    assert mine.keys() - OF_THE_CONTAINER == exported.keys() - OF_THE_CONTAINER
    assert len(mine) > 1000
    for name in mine.keys() - OF_THE_CONTAINER:  # of a hard link either name may be the file
        assert mine[name] == exported[name] or {mine[name][:1], exported[name]} == {"l", "f"}, name


def test_what_is_judged_is_what_is_there(archive: Path) -> None:
    inventory = take_inventory(archive)
    found = {fatbin.path.parts[2]: fatbin.path.parts[1] for fatbin in inventory.fatbins}
    folder = "usr/lib/fixture"
    assert found.keys() == {f"{folder}/liblinked.so", f"{folder}/opaque/again.so"}
    (image,) = inventory.images
    layers = image.layers
    # The hard link was made one layer above its content, which the overlay copied up.
    assert [layers.index(found[f"{folder}/{name}"]) for name in ("liblinked.so", "opaque/again.so")] == [2, 3]
    assert (image.environment["NVIDIA_REQUIRE_CUDA"], image.environment["WITH"]) == ("cuda>=12.8", "a=b c")
    assert image.labels["com.example.floor"] == "12.8"


def test_the_digest_is_the_engines(archive: Path, image: str) -> None:
    identifier = docker("image", "inspect", "-f", "{{.Id}}", image).strip()
    assert f"sha256:{take_inventory(archive).sha256}" == identifier
    layers = docker("image", "inspect", "-f", '{{join .RootFS.Layers " "}}', image).split()
    assert list(take_inventory(archive).images[0].layers) == layers


def test_the_engines_stream_is_the_saved_archive(archive: Path, image: str) -> None:
    saved, sent = take_inventory(archive), take_inventory(SavedImage(image))
    assert (sent.root, sent.format, sent.sha256) == (f"docker://{image}", saved.format, saved.sha256)
    assert rootfs(sent) == rootfs(saved)
    assert [fatbin.path.parts[1:] for fatbin in sent.fatbins] == [fatbin.path.parts[1:] for fatbin in saved.fatbins]
    assert sent.damage == ()


def test_an_image_that_the_engine_does_not_have() -> None:
    for name in ("cubingate-test/absent", "NOT A NAME", "../../x", "x?y#z"):
        with pytest.raises(UsageError, match="has no such image"):
            take_inventory(SavedImage(name))


def test_what_skopeo_makes_of_it(archive: Path, tmp_path: Path) -> None:
    try:
        for number, options in enumerate(([], ["--dest-compress-format", "zstd"], ["--dest-decompress"])):
            target = f"oci:{tmp_path / str(number)}:fixture"
            subprocess.run(["skopeo", "copy", "-q", *options, f"docker-archive:{archive}", target], check=True)
        subprocess.run(
            ["skopeo", "copy", "-q", f"docker-archive:{archive}", f"oci-archive:{tmp_path / 'a.tar'}"], check=True
        )
    except FileNotFoundError:
        pytest.skip("there is no skopeo")
    expected = take_inventory(archive)
    for path in sorted(tmp_path.iterdir()):
        inventory = take_inventory(path)
        assert (inventory.damage, rootfs(inventory)) == ((), rootfs(expected))
        assert inventory.images[0].layers == expected.images[0].layers
