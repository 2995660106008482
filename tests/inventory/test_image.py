"""Images as file systems: what is there at the end, whatever way the image is stored."""

from __future__ import annotations

import hashlib
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import NothingExamined
from pipeline.inventory import take_inventory
from tests.formats.artifacts import Library, ar_of, deb_of, gz, link, tar_of, wheel_of, zip_of, zst
from tests.inventory.images import (
    FOREIGN_TYPE,
    Layout,
    Member,
    config,
    digest,
    folder,
    hardlink,
    layer,
    oci,
    saved,
    symlink,
    write_folder,
)
from tests.toolchain import cubin_image, nvfatbin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pipeline.formats.facts import Inventory

pytestmark = pytest.mark.network
LIBK = "usr/lib/libk.so"


@pytest.fixture(scope="module")
def library() -> bytes:
    return link(Library(fatbins=(nvfatbin("13.0", [cubin_image("13.0", "scale", "80")], mode="size"),)))


class Sent:
    """An engine that sends these bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __str__(self) -> str:
        return "docker://sent"

    def opened(self) -> AbstractContextManager[Iterator[bytes]]:
        from contextlib import nullcontext

        pieces = (self.content[at : at + 4000] for at in range(0, len(self.content), 4000))
        return nullcontext(pieces)


def as_file(tmp_path: Path, files: dict[str, bytes], **more: Any) -> Inventory:
    path = tmp_path / "image.tar"
    path.write_bytes(tar_of(files))
    return take_inventory(path, **more)


def as_gz(tmp_path: Path, files: dict[str, bytes], **more: Any) -> Inventory:
    path = tmp_path / "image.tar.gz"
    path.write_bytes(gz(tar_of(files)))
    return take_inventory(path, **more)


def as_folder(tmp_path: Path, files: dict[str, bytes], **more: Any) -> Inventory:
    return take_inventory(write_folder(tmp_path / "layout", files), **more)


def as_stream(tmp_path: Path, files: dict[str, bytes], **more: Any) -> Inventory:
    return take_inventory(Sent(tar_of(files)), **more)


READERS: list[Callable[..., Inventory]] = [as_file, as_gz, as_stream]
EVERY_WAY: list[Callable[..., Inventory]] = [*READERS, as_folder]
READ = pytest.mark.parametrize("read", READERS)


def rootfs(inventory: Inventory) -> dict[str, str]:
    """Paths of files (``f``), links (``l``) and special files (``s``) in the image's file system."""
    found = dict.fromkeys(inventory.files, "f") | {path: f"l {to}" for path, to in inventory.links.items()}
    found |= {str(item.path): "s" for item in inventory.opaque if item.what in {"device node", "named pipe"}}
    return {path.split("!/", 2)[2]: what for path, what in found.items() if path.count("!/") == 2}


def layers_of(inventory: Inventory) -> list[str]:
    (image,) = inventory.images
    return [name.removeprefix("sha256:")[:6] for name in image.layers]


def whats(inventory: Inventory) -> list[str]:
    return [damage.what for damage in inventory.damage]


def both(*members: bytes, **settings: Any) -> Iterator[dict[str, bytes]]:
    yield saved(*members, **settings)
    yield oci(*members, **settings)


@READ
def test_the_parts_of_an_image(tmp_path: Path, library: bytes, read: Callable[..., Inventory]) -> None:
    content = layer(folder("usr"), Member(LIBK, library), symlink("usr/lib/libk.so.1", "libk.so"))
    settings: dict[str, Any] = {"Env": ["A=1=2", "NVIDIA_REQUIRE_CUDA=cuda>=12.8"], "Labels": {"x": "y"}}
    for files in both(content, **settings):
        inventory = read(tmp_path, files)
        assert inventory.damage == ()
        (fatbin,) = inventory.fatbins
        assert str(fatbin.path) == f"{inventory.root}!/{digest(content)}!/{LIBK}!/.nv_fatbin!/0"
        (image,) = inventory.images
        assert (str(image.path), image.layers) == (inventory.root, (digest(content),))
        assert image.environment == {"A": "1=2", "NVIDIA_REQUIRE_CUDA": "cuda>=12.8"}
        assert image.labels == {"x": "y"}
        assert inventory.sha256 == hashlib.sha256(config([digest(content)], **settings)).hexdigest()
        assert rootfs(inventory) == {LIBK: "f", "usr/lib/libk.so.1": "l libk.so"}


def test_names_of_the_formats(tmp_path: Path) -> None:
    content = layer(Member("a"))
    assert as_file(tmp_path, saved(content)).format == "docker-archive"
    assert as_file(tmp_path, oci(content)).format == "oci-archive"
    assert as_gz(tmp_path, oci(content)).format == "oci-archive.gz"
    assert as_folder(tmp_path, oci(content)).format == "oci"
    assert as_stream(tmp_path, saved(content)).format == "docker-archive"


@pytest.mark.parametrize("pack", [gz, zst])
@pytest.mark.parametrize("read", EVERY_WAY)
def test_compressed_layers(
    tmp_path: Path, library: bytes, pack: Callable[[bytes], bytes], read: Callable[..., Inventory]
) -> None:
    content = layer(Member(LIBK, library))
    inventory = read(tmp_path, oci(content, packed=[pack(content)]))
    assert (inventory.damage, len(inventory.fatbins)) == ((), 1)
    assert inventory.fatbins[0].path.parts[1] == digest(content)


SCENES: dict[str, tuple[list[tuple[Member, ...]], dict[str, str]]] = {
    "later wins": ([(Member("a", b"1"),), (Member("a", b"22"),)], {"a": "f"}),
    "whiteout": ([(Member("d/a"), Member("d/b")), (Member("d/.wh.a"),)], {"d/b": "f"}),
    "whiteout of a folder": ([(Member("d/x/a"), Member("e")), (Member(".wh.d"),)], {"e": "f"}),
    "opaque": ([(Member("d/a"), Member("d/x/b")), (Member("d/c"), Member("d/.wh..wh..opq"))], {"d/c": "f"}),
    "opaque root": ([(Member("d/a"),), (Member(".wh..wh..opq"), Member("c"))], {"c": "f"}),
    "file over folder": ([(Member("d/a"),), (Member("d"),)], {"d": "f"}),
    "folder over file": ([(Member("d"),), (folder("d"), Member("d/a"))], {"d/a": "f"}),
    "folder over link": ([(symlink("d", "e"), Member("e/a")), (Member("d/b"),)], {"d/b": "f", "e/a": "f"}),
    "folders are merged": ([(Member("d/a"),), (folder("d"), Member("d/b"))], {"d/a": "f", "d/b": "f"}),
    "whiteout and new folder": ([(Member("d/a"),), (Member(".wh.d"), folder("d"), Member("d/b"))], {"d/b": "f"}),
    "back again": ([(Member("a"),), (Member(".wh.a"),), (Member("a"),)], {"a": "f"}),
    "whiteout of nothing": ([(Member("a"),), (Member(".wh.b"), Member("x/y/.wh.z"))], {"a": "f"}),
    "hard link": ([(Member("b", b"1"), hardlink("a", "b"))], {"b": "f", "a": "l b"}),
    "hard link in a folder": ([(Member("d/b"), hardlink("e/a", "./d/b"))], {"d/b": "f", "e/a": "l ../d/b"}),
    "hard link to what is deleted": ([(Member("b"), hardlink("a", "/b")), (Member(".wh.b"),)], {"a": "f"}),
    "hard link to what is replaced": ([(Member("b"), hardlink("a", "b")), (Member("b"),)], {"a": "f", "b": "f"}),
    "hard link into a lower layer": ([(Member("b"),), (hardlink("a", "b"),)], {"b": "f", "a": "l b"}),
    "twice in a layer": ([(Member("a", b"1"), Member("a", b"2"))], {"a": "f"}),
    "devices": (
        [(Member("dev/null", kind=tarfile.CHRTYPE), Member("p", kind=tarfile.FIFOTYPE))],
        {"dev/null": "s", "p": "s"},
    ),
    "absolute names": ([(Member("/a"), symlink("/l", "/a"))], {"a": "f", "l": "l /a"}),
    "bookkeeping": ([(Member(".wh..wh.aufs"), Member(".wh..wh.plnk/1.2"), Member("a"))], {"a": "f"}),
}


@READ
@pytest.mark.parametrize("scene", SCENES)
def test_what_is_there_at_the_end(tmp_path: Path, read: Callable[..., Inventory], scene: str) -> None:
    layers, expected = SCENES[scene]
    for files in both(*(layer(*members) for members in layers)):
        inventory = read(tmp_path, files)
        assert inventory.damage == ()
        assert rootfs(inventory) == expected
        assert inventory.members == sum(what == "f" for what in expected.values()) + (read is as_file) + (read is as_gz)


@READ
def test_what_is_gone_is_not_judged(tmp_path: Path, library: bytes, read: Callable[..., Inventory]) -> None:
    lower = layer(
        Member("a.so", library), Member("b.so", library), Member("c.so", library[:5000]), Member("d.so", library)
    )
    upper = layer(Member(".wh.a.so"), Member("b.so", b"text"), Member("c.so", library))
    inventory = read(tmp_path, saved(lower, upper))
    assert inventory.damage == ()
    assert [str(elf.path).removeprefix(f"{inventory.root}!/") for elf in inventory.elves] == [
        f"{digest(lower)}!/d.so",
        f"{digest(upper)}!/c.so",
    ]
    assert [fatbin.path.parts[2] for fatbin in inventory.fatbins] == ["d.so", "c.so"]
    damaged = read(tmp_path, saved(upper, lower))
    assert [damage.path.parts[2] for damage in damaged.damage] == ["c.so"]


@READ
def test_content_is_noted_under_the_name_that_is_left(
    tmp_path: Path, library: bytes, read: Callable[..., Inventory]
) -> None:
    lower = layer(Member("gone.so", library), hardlink("left.so", "gone.so"), Member("x", b"1"), Member("x", library))
    inventory = read(tmp_path, saved(lower, layer(Member(".wh.gone.so"))))
    assert [fatbin.path.parts[2] for fatbin in inventory.fatbins] == ["left.so", "x"]


@READ
def test_archives_in_images_are_entered(tmp_path: Path, library: bytes, read: Callable[..., Inventory]) -> None:
    files = {"lib/k.so": library}
    unit = link(Library(fatbins=(nvfatbin("13.0", [cubin_image("13.0", "scale", "80")]),), kind="object"))
    packed = [
        Member("w.whl", wheel_of(files)),
        Member("z.zip", zip_of(files)),
        Member("t.tgz", gz(tar_of(files))),
        Member("p.deb", deb_of(files)),
        Member("s.a", ar_of([("a.o", unit)])),
        Member("nested.tar", tar_of(saved(layer(Member("k.so", library))))),
    ]
    inventory = read(tmp_path, saved(layer(*packed)))
    assert inventory.damage == ()
    assert [fatbin.path.parts[2] for fatbin in inventory.fatbins] == [member.name for member in packed]
    assert [image.path.parts[2:] for image in inventory.images] == [("nested.tar",), ()]


@READ
def test_the_same_layer_twice(tmp_path: Path, library: bytes, read: Callable[..., Inventory]) -> None:
    content, nothing = layer(Member(LIBK, library)), layer()
    for files in both(content, nothing, nothing, content):
        inventory = read(tmp_path, files)
        assert (inventory.damage, len(inventory.fatbins)) == ((), 1)
        assert layers_of(inventory) == [digest(content)[7:13], digest(nothing)[7:13]]


def test_twenty_platforms(tmp_path: Path, library: bytes) -> None:
    layout = Layout()
    machines = ["amd64", "arm64", "s390x", *(f"m{number}" for number in range(17))]
    for machine in machines:
        content = layer(Member(f"{machine}.so", library))
        row = layout.image([content], platform=f"linux/{machine}")
        if machine == "s390x":  # named in the index, and not there: nobody asked for it
            del layout.files[f"blobs/{digest(content).replace(':', '/')}"]
        layout.listed.append({**row, "platform": {"os": "linux", "architecture": machine}})
    for read in EVERY_WAY:
        for machine, name in (("x86_64", "amd64.so"), ("aarch64", "arm64.so")):
            inventory = read(tmp_path, layout.parts(), machine=machine)
            assert (inventory.damage, [elf.path.name for elf in inventory.elves]) == ((), [name])
            others = [item for item in inventory.opaque if item.what.startswith("image for linux/")]
            assert len(others) == 19
    with pytest.raises(NothingExamined, match=r"no image for linux/riscv64, only: image for linux/amd64, "):
        as_file(tmp_path, layout.parts(), machine="riscv64")


def test_platforms_that_only_the_configurations_tell(tmp_path: Path, library: bytes) -> None:
    layout = Layout()
    for machine in ("arm64", "amd64"):
        layout.listed.append(layout.image([layer(Member(f"{machine}.so", library))], platform=f"linux/{machine}"))
    inventory = as_file(tmp_path, layout.parts(), machine="x86_64")
    assert [elf.path.name for elf in inventory.elves] == ["amd64.so"]
    only = as_file(tmp_path, oci(layer(Member("a.so", library)), platform="linux/arm64"), machine="x86_64")
    assert [elf.path.name for elf in only.elves] == ["a.so"]


def test_attestations_and_artifacts_are_named(tmp_path: Path, library: bytes) -> None:
    layout = Layout()
    layout.listed.append(layout.image([layer(Member("a.so", library))]))
    attestation = layout.image([b"{}"], platform="unknown/unknown")
    layout.listed.append({**attestation, "annotations": {"vnd.docker.reference.type": "attestation-manifest"}})
    chart = layout.manifest(layout.blob(b"{}", "application/vnd.cncf.helm.config.v1+json"), [])
    layout.listed.append(chart)
    inventory = as_file(tmp_path, layout.parts())
    assert (inventory.damage, len(inventory.elves)) == ((), 1)
    named = [item.what for item in inventory.opaque if len(item.path.parts) == 2]
    assert named == ["attestation", "artifact, application/vnd.cncf.helm.config.v1+json"]


def test_several_images_in_one_archive(tmp_path: Path, library: bytes) -> None:
    base = layer(Member("a.so", library), Member("b.so", library))
    top = layer(Member(".wh.a.so"), Member(".wh.b.so"), Member("c.so", library))
    other = layer(Member(".wh.a.so"))
    layout = Layout()
    for layers in ([base, top], [base, other]):
        layout.listed.append(layout.image(layers))
    for read in EVERY_WAY:
        inventory = read(tmp_path, layout.parts())
        assert [elf.path.name for elf in inventory.elves] == ["b.so", "c.so"]
        assert [image.layers for image in inventory.images] == [
            (digest(base), digest(top)),
            (digest(base), digest(other)),
        ]


@READ
def test_other_members_beside_an_image_are_judged_too(
    tmp_path: Path, library: bytes, read: Callable[..., Inventory]
) -> None:
    inventory = read(tmp_path, {"extra.so": library, **saved(layer(Member("a.so", library)))})
    assert [elf.path.name for elf in inventory.elves] == ["extra.so", "a.so"]


@READ
def test_archives_that_only_look_like_images(tmp_path: Path, library: bytes, read: Callable[..., Inventory]) -> None:
    name = "0" * 64
    files = {f"{name}.tar": tar_of({"a.so": library}), f"{name}.json": b"{}", "index.json": b"{}"}
    if read is not as_stream:
        inventory = read(tmp_path, files)
        assert [str(elf.path) for elf in inventory.elves] == [f"{inventory.root}!/{name}.tar!/a.so"]
        assert (inventory.images, inventory.damage) == ((), ())
        plain = read(tmp_path, {"manifest.json": b'{"name": "an extension"}', "a.so": library})
        assert (len(plain.elves), plain.damage, plain.members) == (1, (), 3)
    else:
        assert whats(read(tmp_path, files)) == ["the engine did not send an image"]


def test_foreign_layers(tmp_path: Path, library: bytes) -> None:
    layout = Layout()
    ours, foreign = layer(Member("a.so", library)), gz(layer(Member("b.so", library)))
    rows = [layout.blob(ours, "x"), {**Layout().blob(foreign, FOREIGN_TYPE), "urls": ["https://example.com/l"]}]
    made = layout.blob(config([digest(ours), "sha256:" + "0" * 64]), "application/vnd.oci.image.config.v1+json")
    layout.listed.append(layout.manifest(made, rows))
    inventory = as_file(tmp_path, layout.parts())
    assert whats(inventory) == ["a foreign layer, whose content is not in the image but at 'https://example.com/l'"]
    assert [elf.path.name for elf in inventory.elves] == ["a.so"]
