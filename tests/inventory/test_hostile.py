"""Corrupt and hostile input: facts or one line of damage, in bounded time, and never another exception."""

from __future__ import annotations

import dataclasses
import struct
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.inventory import take_inventory
from tests.formats.artifacts import Library, gz, link, tar_member, tar_of, zip_of
from tests.inventory.corpus import KINDS, make_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.formats.facts import Inventory

pytestmark = pytest.mark.network
SMALL = Budgets(buffered=2000, nesting=8)


def take(folder: Path, content: bytes, *, deep: bool = False, budgets: Budgets = STANDARD) -> Inventory:
    path = folder / "artifact"
    path.write_bytes(content)
    before = sorted(folder.iterdir())
    inventory = take_inventory(path, deep=deep, sha256="0", budgets=budgets)
    assert sorted(folder.iterdir()) == before
    return inventory


def whats(inventory: Inventory) -> list[str]:
    for damage in inventory.damage:
        assert "\n" not in f"{damage.path}: {damage.what}"
    return [damage.what for damage in inventory.damage]


@pytest.fixture(scope="module")
def corpus() -> dict[str, bytes]:
    return make_corpus()


@pytest.mark.parametrize("kind", KINDS)
def test_the_corpus_itself_is_healthy(tmp_path: Path, corpus: dict[str, bytes], kind: str) -> None:
    for budgets in (STANDARD, SMALL):
        inventory = take(tmp_path, corpus[kind], deep=True, budgets=budgets)
        assert inventory.damage == ()
        assert inventory.fatbins or inventory.bare


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_yields_facts_or_damage(
    tmp_path: Path, corpus: dict[str, bytes], kind: str, data: st.DataObject
) -> None:
    content = bytearray(corpus[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        # Headers are where it hurts: half of the changes go into the first kilobyte or the last.
        place = data.draw(st.integers(0, 2))
        low, high = [(0, len(content)), (0, 1024), (max(len(content) - 1024, 0), len(content))][place]
        at = data.draw(st.integers(low, max(min(high, len(content)) - 1, low)))
        value = data.draw(st.binary(min_size=1, max_size=9))
        content[at : at + len(value)] = value
    length = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    deep, budgets = data.draw(st.booleans()), data.draw(st.sampled_from([STANDARD, SMALL]))
    whats(take(tmp_path, bytes(content[:length]), deep=deep, budgets=budgets))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ptx"])
@pytest.mark.parametrize("budgets", [STANDARD, SMALL])
def test_truncation_is_damage_wherever_it_is(
    tmp_path: Path, corpus: dict[str, bytes], kind: str, budgets: Budgets
) -> None:
    content = corpus[kind]
    healthy = take(tmp_path, content, budgets=budgets)
    for length in [*range(64, 512, 37), *range(512, len(content), max(len(content) // 25, 1)), len(content) - 1]:
        inventory = take(tmp_path, content[:length], budgets=budgets)
        complete = (inventory.fatbins, inventory.bare) == (healthy.fatbins, healthy.bare)
        assert inventory.damage or complete or inventory.format == "data", length


def test_bombs(tmp_path: Path) -> None:
    bomb = gz(gz(gz(bytes(300 << 20))))
    tight = dataclasses.replace(STANDARD, expansion_free=8 << 20)
    assert any("bomb" in what for what in whats(take(tmp_path, bomb, budgets=tight)))
    zipped = zip_of({"zeros": bytes(64 << 20)})
    assert any("bomb" in what for what in whats(take(tmp_path, zipped, budgets=tight)))


@pytest.mark.parametrize("layers", [9, 200])
def test_nesting(tmp_path: Path, layers: int) -> None:
    content = b"core"
    for _ in range(layers):
        content = gz(tar_of({"m": content}))
    assert any("nested" in what for what in whats(take(tmp_path, content)))


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../../b"])
def test_path_escapes(tmp_path: Path, name: str) -> None:
    for content in (tar_of({name: b"x"}), zip_of({name: b"x"}), gz(tar_of({"t.tar": tar_of({name: b"x"})}))):
        inventory = take(tmp_path, content)
        assert whats(inventory)
        assert not any(path.endswith(name) for path in inventory.files)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../etc"])
def test_links_that_lead_out(tmp_path: Path, target: str) -> None:
    inventory = take(tmp_path, tar_of({}, links={"lib/l": target}))
    assert "leads out" in whats(inventory)[0]
    assert list(inventory.links.values()) == [target]
    hard = take(tmp_path, tar_member(type=tarfile.LNKTYPE, linkname=target))
    assert len(hard.damage) == 1


@pytest.mark.parametrize(
    ("name", "target", "leads_out"),
    [
        ("venv/bin/python3", "/usr/bin/python3", False),
        ("bin/python", "/opt/python/3.13/bin/python3.13t", False),
        ("venv/bin/python3", "/etc/passwd", True),
        ("venv/bin/python3", "/usr/bin/../../etc/bin/python3", True),
        ("venv/lib/python3", "/usr/bin/python3", True),
        ("venv/bin/python3", "/usr/bin/python3\n/etc/passwd", True),
    ],
)
def test_a_packed_environment_has_the_hosts_interpreter(
    tmp_path: Path, name: str, target: str, leads_out: bool
) -> None:
    inventory = take(tmp_path, tar_of({}, links={name: target}))
    assert list(inventory.links.values()) == [target]
    assert any("leads out" in what for what in whats(inventory)) is leads_out


def test_links_in_zips(tmp_path: Path) -> None:
    path = tmp_path / "artifact"
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode, content in (("in", 0o120777, "a"), ("out", 0o120777, "../x"), ("dev", 0o020666, "")):
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = 3, mode << 16
            archive.writestr(member, content)
    inventory = take_inventory(path)
    assert set(inventory.links.values()) == {"a", "../x"}
    assert [str(damage.path).rpartition("/")[2] for damage in inventory.damage] == ["out", "dev"]


@pytest.mark.parametrize("flag", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE, b"Z"])
def test_special_members(tmp_path: Path, flag: bytes) -> None:
    assert len(whats(take(tmp_path, tar_member(type=flag)))) == 1


def test_duplicate_names(tmp_path: Path) -> None:
    twice = tar_of({"./a": b"1", "a": b"2"})
    assert "second" in whats(take(tmp_path, twice))[0]
    zipped = zip_of({"a": b"1", "b": b"2"}).replace(b"b", b"a")
    assert "second" in whats(take(tmp_path, zipped))[0]


def test_names_that_would_break_a_line(tmp_path: Path) -> None:
    inventory = take(tmp_path, tar_of({"a\nb\x1b[31m": b"", "\udcff": b"", "../\n": b""}))
    whats(inventory)
    for path in (*inventory.files, *(str(item.path) for item in inventory.opaque)):
        assert path.isprintable()


def test_too_many_members(tmp_path: Path) -> None:
    content = tar_of({str(index): b"" for index in range(20)})
    assert "more than 10 members" in whats(take(tmp_path, content, budgets=Budgets(members=10)))[0]


def test_damage_is_listed_up_to_a_limit(tmp_path: Path) -> None:
    content = tar_of({f"../{index}": b"" for index in range(20)})
    assert len(whats(take(tmp_path, content, budgets=Budgets(damage=5)))) == 6


def test_a_million_empty_containers(tmp_path: Path) -> None:
    empty = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0)
    inventory = take(tmp_path, empty * 300_000)
    assert any("no more is read" in what for what in whats(inventory))


def test_a_million_entries(tmp_path: Path) -> None:
    entry = struct.pack("<HHIQ", 2, 0x101, 64, 0).ljust(64, b"\0")
    body = (entry[:28] + struct.pack("<I", 80) + entry[32:]) * 100_000
    inventory = take(tmp_path, struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)
    assert "more than" in whats(inventory)[0]


def test_magic_without_end(tmp_path: Path) -> None:
    content = link(Library(rodata=struct.pack("<I", 0xBA55ED50) * 500_000))
    tight = dataclasses.replace(STANDARD, all_entries=10_000)
    assert "device-code entries" in whats(take(tmp_path, content, budgets=tight))[0]
    assert (
        "device-code entries" in whats(take(tmp_path, gz(content), budgets=dataclasses.replace(tight, buffered=10)))[0]
    )
