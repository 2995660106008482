"""A second look at an environment: the same answer without reading, never an old answer, never a damaged one."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.audit.run import read_or_damage
from pipeline.environments import cache as cache_module
from pipeline.environments.cache import FactsCache
from pipeline.formats.facts import CubinFacts, ElfFacts, EntryFacts, FatbinFacts, Inventory
from pipeline.inventory import digest_of, take_inventory
from pipeline.inventory.memory import CachePlace
from tests import toolchain
from tests.environments.places import SITE, Package, environment
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.network
LATER = 10_000_000_000


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    library = Elf(
        "libk.so", [container("12.8", "75 80 ptx:90"), container("13.0", "90a", "zstd")], needed=["libc.so.6"]
    )
    product = Package("product", "1.2", [library], files={"product/__init__.py": "x = 1\n"})
    return environment(tmp_path, [product, Package("pure", files={"pure.py": "y = 2\n"})])


@pytest.fixture
def where(tmp_path: Path) -> CachePlace:
    return CachePlace(tmp_path / "facts", time.time_ns() + LATER)


def look(venv: Path, where: CachePlace | None, monkeypatch: pytest.MonkeyPatch | None = None) -> Inventory:
    """One look; with ``monkeypatch`` every file that is opened for reading is an error."""
    if monkeypatch is not None:
        monkeypatch.setattr("pipeline.inventory.folder.open_view", _nobody_reads)
    return read_or_damage(venv, deep=False, cache=where)


def _nobody_reads(path: Path) -> None:
    raise AssertionError(f"{path} was read")


def test_the_second_look_reads_nothing_and_says_the_same(
    venv: Path, where: CachePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = look(venv, where)
    assert first == look(venv, None) == look(venv, where, monkeypatch)
    assert first.sha256 == digest_of(venv)
    assert first.fatbins
    assert first.metadata


def test_nothing_of_a_large_library_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's own libraries have every kind of fact."""
    where = CachePlace(tmp_path / "facts", time.time_ns() + LATER)
    source = toolchain.unpacked("nvidia-curand==10.4.5.25")
    first = look(source, where)
    assert first == look(source, where, monkeypatch)
    assert len(first.fatbins) > 1


SHARED = ("shared", "largest")


def test_every_field_of_the_facts_is_kept() -> None:
    """A field that is added to these types must be added to the codec: this test is its reminder."""
    assert EntryFacts.__slots__ == (
        *("index", "kind", "arch", "codec", "flags", "code_version", "ptx", "offset", "header_size", "payload_size"),
        *("compressed_size", "uncompressed_size", "identifier", "nested", "cubin", "payload_error", "text", "kernels"),
    )
    assert FatbinFacts.__slots__ == (
        *("path", "section", "index", "offset", "size", "version", "entries", "relocatable", "wrapper", "registered"),
    )
    assert CubinFacts.__slots__ == ("arch", "os_abi", "abi", "e_flags", "toolkit", "kernels", "relocatable", *SHARED)
    assert len(ElfFacts.__slots__) == 19


def replaced(path: Path) -> None:
    """Another library under the same name."""
    build(Elf("other.so", [container("12.8", "80")]), path.parent)
    (path.parent / "other.so").replace(path)


def patched(path: Path) -> None:
    """One byte in place, with both the size and the modification time as before."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 0xFF
    with path.open("r+b") as stream:
        stream.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [replaced, patched], ids=lambda change: change.__name__)
def test_what_changed_is_read_again(venv: Path, where: CachePlace, change: Callable[[Path], None]) -> None:
    look(venv, where)
    change(venv / SITE / "product" / "libk.so")
    assert look(venv, where) == look(venv, None)


def test_the_name_of_a_folder_says_what_its_files_are(venv: Path, where: CachePlace) -> None:
    """As pip moves metadata away and back: neither its files nor their times change."""
    info, aside = venv / SITE / "product-1.2.dist-info", venv / SITE / "aside"
    info.rename(aside)
    look(venv, where)
    aside.rename(info)
    assert look(venv, where).metadata == look(venv, None).metadata


def test_hard_links_are_what_their_own_names_say(venv: Path, where: CachePlace) -> None:
    """One that is listed later is no metadata, and must not make the first one so."""
    os.link(venv / SITE / "product-1.2.dist-info" / "METADATA", venv / SITE / "zzz.txt")
    assert look(venv, where) == look(venv, where) == look(venv, None)


def test_what_was_just_written_is_not_remembered(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = CachePlace(tmp_path / "facts", time.time_ns())
    look(venv, now)
    with pytest.raises(AssertionError, match="was read"):
        look(venv, now, monkeypatch)


def rows_of(where: CachePlace) -> Path:
    (place,) = where.folder.glob("*.json")
    return place


def cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-7])


def emptied(place: Path) -> None:
    place.write_bytes(b"")


def flipped(place: Path) -> None:
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, emptied, flipped], ids=lambda damage: damage.__name__)
def test_a_damaged_cache_costs_time_and_nothing_else(
    venv: Path, where: CachePlace, damage: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = look(venv, where)
    damage(rows_of(where))
    assert look(venv, where) == first
    assert look(venv, where, monkeypatch) == first


@pytest.mark.parametrize("facts", [None, {}, [], {"members": "x"}, 7])
def test_rows_that_make_no_sense_are_not_believed(venv: Path, where: CachePlace, facts: object) -> None:
    first = look(venv, where)
    place = rows_of(where)
    rows = json.loads(place.read_bytes()[64:])
    changed = {name: [*row[:5], facts] if row[5] else row for name, row in rows.items()}
    body = json.dumps(changed).encode()
    place.write_bytes(hashlib.sha256(body).hexdigest().encode() + body)
    assert look(venv, where) == first


def test_another_version_of_the_readers_looks_itself(
    venv: Path, where: CachePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(venv, where)
    monkeypatch.setattr(cache_module, "readers_digest", lambda: "another")
    with pytest.raises(AssertionError, match="was read"):
        look(venv, where, monkeypatch)


def test_what_nobody_asks_about_is_forgotten(venv: Path, where: CachePlace, tmp_path: Path) -> None:
    look(venv, where)
    month = replace(where, now=where.now + 40 * 86_400 * 1_000_000_000)
    other = environment(tmp_path / "other", [Package("small")])
    look(other, month)
    assert rows_of(where) == FactsCache(month, other)._place


def test_a_folder_that_cannot_be_written_is_no_cache(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    where = CachePlace(tmp_path / "file" / "facts", time.time_ns() + LATER)
    assert look(venv, where) == look(venv, None)


def test_deep_runs_do_not_use_it(venv: Path, where: CachePlace) -> None:
    look(venv, where)
    assert read_or_damage(venv, deep=True, cache=where) == take_inventory(venv, deep=True)
