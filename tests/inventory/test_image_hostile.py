"""Images that lie, leave things out or want to get out: damage with a name, bounded, and never another exception."""

from __future__ import annotations

import io
import json
import tarfile
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import NothingExamined
from pipeline.formats.budgets import Budgets
from pipeline.inventory import take_inventory
from tests.formats.artifacts import gz, tar_of, zst
from tests.inventory.images import CONFIG_TYPE, Layout, Member, config, digest, hardlink, layer, oci, saved, symlink
from tests.inventory.test_image import EVERY_WAY, READ, Sent, as_file, as_folder, rootfs, whats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.formats.facts import Inventory

CONTRADICTIONS: dict[str, tuple[list[tuple[Member, ...]], str]] = {
    "whiteout and file": ([(Member("a"), Member(".wh.a"))], "a layer that both deletes and holds it"),
    "whiteout of nothing": ([(Member(".wh."),)], "a whiteout of a folder from inside it"),
    "whiteout of itself": ([(Member("d/.wh.."),)], "a whiteout of a folder from inside it"),
    "whiteout of the folder above": ([(Member("d/.wh..."),)], "a whiteout of a folder from inside it"),
    "inside a whiteout": ([(Member("a/.wh.b/c"),)], "a member inside a whiteout"),
    "out by name": ([(Member("../a"),)], "a member name that leads out"),
    "whiteout out by name": ([(Member("../.wh.a"),)], "a member name that leads out"),
    "below a link": ([(symlink("d", "/etc"), Member("d/a"))], "below a file or link of the same layer"),
    "below a file": ([(Member("d"), Member("d/a"))], "below a file or link of the same layer"),
    "hard link out": ([(hardlink("a", "../../etc/passwd"),)], "a member name that leads out"),
    "hard link to nothing": ([(hardlink("a", "etc/passwd"),)], "a hard link to 'etc/passwd', which is not there"),
    "hard link to a folder": ([(Member("d/x"), hardlink("a", "d"))], "a hard link to 'd', which is not there"),
    "hard link to what is deleted": ([(Member("b"),), (Member(".wh.b"), hardlink("a", "b"))], "which is not there"),
    "root is a link": ([(symlink(".", "/etc"),)], "a root that is a symlink"),
    "unknown kind": ([(Member("a", kind=b"Z"),)], "a member of unknown type"),
}


@READ
@pytest.mark.parametrize("scene", CONTRADICTIONS)
def test_layers_that_contradict_themselves(tmp_path: Path, read: Callable[..., Inventory], scene: str) -> None:
    layers, expected = CONTRADICTIONS[scene]
    for files in (saved(*(layer(*members) for members in layers)), oci(*(layer(*members) for members in layers))):
        inventory = read(tmp_path, files)
        assert len(inventory.damage) == 1
        assert expected in whats(inventory)[0]


def test_healthy_neighbours_of_contradictions_are_still_there(tmp_path: Path) -> None:
    inventory = as_file(tmp_path, saved(layer(Member("../a"), Member("b"), hardlink("c", "no"), Member("d/e"))))
    assert rootfs(inventory) == {"b": "f", "d/e": "f"}


def tampered(files: dict[str, bytes], name: str, content: bytes | None) -> dict[str, bytes]:
    return {key: data if key != name else content for key, data in files.items() if key != name or content is not None}  # type: ignore[misc]


def blob(content: bytes) -> str:
    return f"blobs/{digest(content).replace(':', '/')}"


@pytest.mark.parametrize("read", EVERY_WAY)
def test_wrong_digests_and_missing_blobs(tmp_path: Path, read: Callable[..., Inventory]) -> None:
    content, other = layer(Member("a", b"1")), layer(Member("a", b"2"))
    packed = gz(content)
    files = oci(content, packed=[packed])
    made = config([digest(content)])
    manifest = next(data for data in files.values() if b'"schemaVersion": 2, "config"' in data)
    for name, wrong, expected in (
        (blob(packed), None, "a layer that is not in the image"),
        (blob(packed), gz(other), "a layer whose archive has the digest"),
        (blob(packed), zst(content), "where sha256:"),
        (blob(packed), packed[:-9], "ends too early"),
        (blob(packed), b"no archive", "ends"),
        (blob(packed), packed + b"more", "follow the gz data"),
        (blob(made), None, "a blob that is not in the image"),
        (blob(made), made + b" ", "with the digest"),
        (blob(manifest), None, "a blob that is not in the image"),
        (blob(manifest), manifest.replace(b'"layers"', b'"Layers"'), "with the digest"),
        ("index.json", b"[", "damaged JSON"),
        ("index.json", b"[" * 100_000, "damaged JSON"),
        ("index.json", b'{"manifests": {}}', "without 'manifests'"),
        ("index.json", b'{"manifests": [{"digest": "sha256:../../../etc/passwd", "size": 1}]}', "no SHA-256"),
        ("index.json", b'{"manifests": [{"digest": 7, "size": 1}]}', "no SHA-256"),
        ("index.json", b'{"manifests": [{"size": true}]}', "without a size"),
        ("index.json", b'{"manifests": [7]}', "no JSON object"),
    ):
        folder = tmp_path / str(time.monotonic_ns())
        folder.mkdir()
        found = whats(read(folder, tampered(files, name, wrong)))
        assert any(expected in what for what in found), (name, found)


@READ
def test_lies_in_what_docker_saved(tmp_path: Path, read: Callable[..., Inventory]) -> None:
    content = layer(Member("a", b"1"))
    files = saved(content)
    name = next(key for key in files if key.endswith(".json") and key != "manifest.json")
    tar = next(key for key in files if key.endswith(".tar"))
    for key, wrong, expected in (
        (tar, None, "a layer that is not in the image"),
        (tar, layer(Member("a", b"2")), "a layer whose archive has the digest"),
        (tar, content[:700], "ends"),
        (name, None, "a configuration that is not in the image"),
        (name, files[name] + b" ", "with the digest"),
        (name, b"{}", "rootfs"),
        ("manifest.json", b"{", "lists no images"),
        (
            "manifest.json",
            json.dumps([{"Config": name, "Layers": []}]).encode(),
            "0 layers whose configuration lists 1",
        ),
        ("manifest.json", json.dumps([{"Config": "../../x", "Layers": []}]).encode(), "not in the image"),
    ):
        found = whats(read(tmp_path, tampered(files, key, wrong)))
        assert any(expected in what for what in found) or (key == "manifest.json" and "JSON" in found[0]), (key, found)


def test_layers_linked_to_each_other_in_a_circle(tmp_path: Path) -> None:
    first, second = (f"{number * 64}/layer.tar" for number in "12")
    made = config(["sha256:" + "0" * 64])
    name = f"{digest(made)[7:]}.json"
    files = {name: made, "manifest.json": json.dumps([{"Config": name, "Layers": [first]}]).encode()}
    content = tar_of(files, links={first: f"../{second}", second: f"../{first}"})
    for taken in (_file(tmp_path, content), Sent(content)):
        assert "a layer that is not in the image" in whats(take_inventory(taken))[0]


@READ
def test_two_roots_name_two_images_and_both_are_judged(tmp_path: Path, read: Callable[..., Inventory]) -> None:
    files = {**saved(layer(Member("old"))), **oci(layer(Member("new")))}
    assert rootfs(read(tmp_path, files)) == {"old": "f", "new": "f"}


def test_indexes_without_end(tmp_path: Path) -> None:
    layout = Layout()
    row = layout.image([layer(Member("a"))])
    for _ in range(8):
        row = layout.blob(json.dumps({"manifests": [row] * 3}).encode(), "application/vnd.oci.image.index.v1+json")
    layout.listed = [row] * 1000
    assert "indexes nested more than 4 deep" in whats(as_file(tmp_path, layout.parts()))[0]
    layout.listed = [row] * 1001
    assert "more than 1000" in whats(as_file(tmp_path, layout.parts()))[0]


def test_an_empty_index_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(NothingExamined, match="only: nothing"):
        as_file(tmp_path, Layout().parts())


def test_links_in_a_layout_are_not_followed(tmp_path: Path) -> None:
    content = layer(Member("a"))
    files = oci(content)
    outside = tmp_path / "outside"
    outside.write_bytes(files.pop(blob(content)))
    folder = tmp_path / "layout" / "blobs" / "sha256"
    folder.mkdir(parents=True)
    (folder / digest(content)[7:]).symlink_to(outside)
    assert "a layer that is not in the image" in whats(as_folder(tmp_path, files))[0]


@pytest.mark.parametrize("read", EVERY_WAY)
def test_budgets_are_for_all_layers(tmp_path: Path, read: Callable[..., Inventory]) -> None:
    layers = [layer(*(Member(f"{number}/{index}") for index in range(10))) for number in range(5)]
    assert whats(read(tmp_path, oci(*layers), budgets=Budgets(members=60))) == []
    found = whats(read(tmp_path, oci(*layers), budgets=Budgets(members=30)))
    assert any("more than 30 members" in what for what in found)
    folders = layer(*(Member(f"d{index}", kind=tarfile.DIRTYPE) for index in range(200)))
    assert "too many members" in whats(read(tmp_path, oci(folders), budgets=Budgets(members=30)))[0]
    deep = layer(Member("/".join("d" * 100) + "/x"))
    assert "more than 30 folders" in whats(read(tmp_path, oci(deep), budgets=Budgets(members=30)))[0]


def test_damage_that_is_not_listed_is_not_forgotten(tmp_path: Path) -> None:
    lower = layer(*(Member(f"gone/{index}", b"\x7fELF\2\1\1") for index in range(9)), Member("there", b"\x7fELF\2\1\1"))
    inventory = as_file(tmp_path, saved(lower, layer(Member(".wh.gone"))), budgets=Budgets(damage=5))
    assert whats(inventory) == ["and more damage, which is not listed"]


def test_a_layer_that_is_repeated_without_end(tmp_path: Path) -> None:
    content = layer(*(Member(f"d/{index}") for index in range(500)))
    layout = Layout()
    made = layout.blob(config([digest(content)] * 1000), CONFIG_TYPE)
    layout.listed.append(layout.manifest(made, [layout.blob(content, "x")] * 1000))
    assert whats(as_file(tmp_path, layout.parts())) == []
    assert "repeated so often" in whats(as_file(tmp_path, layout.parts(), budgets=Budgets(members=5000)))[0]


@READ
def test_a_bomb_in_a_layer(tmp_path: Path, read: Callable[..., Inventory]) -> None:
    content = layer(Member("zeros", bytes(32 << 20)))
    tight = Budgets(expansion_free=4 << 20)
    found = whats(read(tmp_path, oci(content, packed=[gz(content)]), budgets=tight))
    assert any("bomb" in what for what in found)


@pytest.mark.parametrize("make", [saved, oci])
def test_truncation_is_damage_wherever_it_is(tmp_path: Path, make: Callable[..., dict[str, bytes]]) -> None:
    content = tar_of(make(layer(Member("a", b"1" * 3000)), layer(Member("b"))))
    end = len(content.rstrip(b"\0"))
    for length in range(512, end, 499):
        for taken in (_file(tmp_path, content[:length]), Sent(content[:length])):
            assert take_inventory(taken).damage, length


def _file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "artifact"
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def corpus() -> dict[str, bytes]:
    lower = layer(Member("d/a", b"1"), symlink("l", "d/a"), hardlink("h", "d/a"), Member("e/f", b"words" * 300))
    upper = layer(Member("d/.wh.a"), Member("e/.wh..wh..opq"), Member("n"))
    return {
        "saved": tar_of(saved(lower, upper, Env=["A=B"])),
        "oci": tar_of(oci(lower, upper, packed=[gz(lower), zst(upper)], Labels={"a": "b"})),
    }


@pytest.mark.parametrize("kind", ["saved", "oci"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_yields_facts_or_damage(tmp_path: Path, corpus: dict[str, bytes], kind: str, data: Any) -> None:
    content = bytearray(corpus[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        value = data.draw(st.binary(min_size=1, max_size=9))
        content[at : at + len(value)] = value
    for taken in (_file(tmp_path, bytes(content)), Sent(bytes(content))):
        try:
            inventory = take_inventory(taken)
        except NothingExamined:
            continue
        assert inventory.damage or inventory.sha256


def test_a_hundred_thousand_small_files(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for index in range(100_000):
            row = tarfile.TarInfo(f"usr/share/{index % 300}/{index}")
            row.size = 5
            archive.addfile(row, io.BytesIO(b"words"))
    started = time.monotonic()
    inventory = as_file(tmp_path, saved(buffer.getvalue(), layer(Member("usr/share/.wh.7"))))
    assert (inventory.damage, inventory.members) == ((), 100_000 - 333 - 1 + 1)
    assert time.monotonic() - started < 60
