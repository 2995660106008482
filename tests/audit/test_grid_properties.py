"""Toolkits, architectures, codecs, drivers and packaging against each other: every cell is foreseen independently.

Containers are made by NVIDIA's ptxas and libnvfatbin; what must come out is worked out in ``foreseen`` from tables and
documents. Besides that, properties that hold whatever the tables say.
"""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pipeline.audit import audit_artifacts
from pipeline.inventory import take_inventory
from pipeline.policy import Policy, load_policy
from tests.audit.foreseen import FLOORS, GPUS, JIT, NATIVE, Container, Entry, fate, minimum, unserved, verdict, version
from tests.audit.foreseen import absent_by_design as by_design
from tests.formats.artifacts import zip_of
from tests.rules.forge import images
from tests.toolchain import TOOLKITS, nvfatbin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.audit.report import PassVerdict, TargetReport

pytestmark = pytest.mark.network

_PLAIN = "50 52 53 60 61 62 70 72 75 80 86 87 89 90"
_NEW = "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f"
ARCHS = {
    "11.8": f"35 37 {_PLAIN}".split(),
    "12.4": f"{_PLAIN} 90a".split(),
    "12.9": f"{_PLAIN} 90a 100 100a 100f 101 101a 103 103a 103f 120 120a 120f 121 121a 121f".split(),
    "13.0": _NEW.split(),
    "13.5": [*_NEW.split(), "107", "107a", "107f"],
}
PACKERS = {"11.8": "12.9", "12.4": "12.9", "12.9": "12.9", "13.0": "13.5", "13.5": "13.5"}
LATER = ("515.65.01", "525.147.05", "535.288.01", "550.163.01", "570.133.20", "580.159.04", "600.10", "625.10")
DRIVERS = sorted({*FLOORS, *LATER, "455.23.04", "520.56.06", "550.40.07"}, key=version)
LIBRARIES = 30
Library = tuple[Container, ...]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def entry(toolkit: str, name: str, codec: str) -> Entry:
    kind = "ptx" if name.startswith("ptx:") else "cubin"
    return Entry(kind, name.removeprefix("ptx:"), toolkit, TOOLKITS[toolkit].ptx, codec)


def drawn(seed: int) -> Library:
    """One to three containers; all toolkits, codecs and kinds come equally often."""
    chance = random.Random(seed)
    toolkit = list(ARCHS)[seed % len(ARCHS)]
    library = []
    for _ in range(1 + seed // len(ARCHS) % 3):
        codec = chance.choice(("none", "lz4", "zstd"))
        names = chance.sample([prefix + arch for arch in ARCHS[toolkit] for prefix in ("", "", "ptx:")], 3)
        count = chance.choice((1, 1, 2, 3))
        library.append(tuple(entry(toolkit, name, codec) for name in dict.fromkeys(names[:count])))
    return tuple(library)


def packed(container: Container) -> bytes:
    toolkit, codec = container[0].toolkit, container[0].codec
    names = " ".join(("ptx:" if item.kind == "ptx" else "") + item.arch for item in container)
    mode = {"none": "none", "lz4": "speed", "zstd": "size"}[codec]
    return nvfatbin(PACKERS[toolkit], images(toolkit, names), mode=mode, everything=codec == "lz4")


def written(library: Library, folder: Path) -> Path:
    path = folder / "k.fatbin"
    path.write_bytes(b"".join(packed(container) for container in library))
    return path


def answers(path: Path, policy: Policy, gpus: list[int], *, deep: bool = False) -> list[TargetReport]:
    targets = [policy.parse_target(f"{sm}@{driver}") for sm in gpus for driver in DRIVERS]
    return list(audit_artifacts([take_inventory(path, deep=deep)], targets, None, None, policy).targets)


def of_interest(library: Library, seed: int) -> list[int]:
    """The GPUs that are named, and some that are not."""
    chance = random.Random(seed)
    return sorted({*(item.number for container in library for item in container), *chance.sample(sorted(GPUS), 4)})


@pytest.mark.parametrize("seed", range(LIBRARIES))
def test_every_cell_is_as_foreseen(seed: int, tmp_path: Path, policy: Policy) -> None:
    library = drawn(seed)
    floors = dict[int, str | None]()
    for answer in answers(written(library, tmp_path), policy, of_interest(library, seed)):
        sm, driver = answer.target.sm, str(answer.target.driver)
        cell = f"{answer.target.label} {library}"
        expected = verdict(library, sm, driver)
        assert answer.verdict == expected.verdict, cell
        assert not expected.causes or answer.causes[0] in expected.causes, cell
        assert not expected.errors or answer.errors[0] in expected.errors, cell
        if not unserved(sm, driver):
            assert counted(answer) == counts(library, sm, driver), cell
            assert_pass(answer.jit_forbidden, library, sm, driver, "forbidden")
            assert_pass(answer.jit_forced, library, sm, driver, "forced")
        floors.setdefault(sm, minimum(library, sm))
        assert (answer.floor.driver or None) == floors[sm], cell


def counted(answer: TargetReport) -> tuple[int, int, int, int]:
    found = answer.fatbins
    return found.native, found.jit, found.by_design, found.unloadable


def counts(library: Library, sm: int, driver: str) -> tuple[int, int, int, int]:
    ways = [
        "design"
        if by_design(container, library, sm, driver)
        else "unloadable"
        if (found := fate(container, sm, driver)).troubles
        else found.via
        for container in library
    ]
    return ways.count(NATIVE), ways.count(JIT), ways.count("design"), ways.count("unloadable")


def assert_pass(answer: PassVerdict, library: Library, sm: int, driver: str, jit: str) -> None:
    expected = verdict(library, sm, driver, jit)
    assert answer.verdict == expected.verdict, (sm, driver, jit, library)
    assert not expected.errors or answer.errors[0] in expected.errors, (sm, driver, jit, library)


@pytest.mark.parametrize("seed", range(0, LIBRARIES, 4))
def test_a_floor_passes_and_the_next_lower_driver_does_not(seed: int, tmp_path: Path, policy: Policy) -> None:
    library = drawn(seed)
    gpus = of_interest(library, seed)
    verdicts = {
        (answer.target.sm, str(answer.target.driver)): answer
        for answer in answers(written(library, tmp_path), policy, gpus)
    }
    for sm in gpus:
        floor = verdicts[sm, FLOORS[-1]].floor.driver
        passing = [driver for driver in FLOORS if verdicts[sm, driver].verdict == "pass"]
        assert floor == (passing[0] if passing else "")


@pytest.mark.parametrize("seed", range(0, LIBRARIES, 4))
def test_a_newer_driver_is_never_worse_until_it_drops_the_gpu(seed: int, tmp_path: Path, policy: Policy) -> None:
    library = drawn(seed)
    passed = set[int]()
    for answer in answers(written(library, tmp_path), policy, of_interest(library, seed)):
        if answer.verdict == "pass":
            passed.add(answer.target.sm)
        elif answer.target.sm in passed:
            assert answer.causes in {("driver-retired",), ("outside-policy",)}


@dataclass(frozen=True, slots=True)
class Packing:
    name: str
    pack: Callable[[bytes], bytes]


def tarred(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("lib/k")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


PACKINGS = (
    Packing("tar", tarred),
    Packing("tar.gz", lambda content: gzip.compress(tarred(content))),
    Packing("zip", lambda content: zip_of({"lib/k": content})),
    Packing("gz", gzip.compress),
    Packing("zip-in-tar-in-zip", lambda content: zip_of({"a": tarred(zip_of({"b": content}, streamed=True))})),
)


def told(found: list[TargetReport]) -> Iterator[tuple[object, ...]]:
    for answer in found:
        passes = answer.jit_forbidden, answer.jit_forced
        yield answer.target, answer.verdict, answer.causes, answer.errors, answer.fatbins, answer.floor, passes


@pytest.mark.parametrize("seed", [3, 12, 24])
@pytest.mark.parametrize("packing", PACKINGS, ids=lambda packing: packing.name)
def test_packaging_and_depth_change_nothing(seed: int, packing: Packing, tmp_path: Path, policy: Policy) -> None:
    library = drawn(seed)
    gpus = of_interest(library, seed)
    bare = written(library, tmp_path)
    wrapped = tmp_path / "wrapped"
    wrapped.write_bytes(packing.pack(bare.read_bytes()))
    expected = list(told(answers(bare, policy, gpus)))
    assert list(told(answers(wrapped, policy, gpus))) == expected
    assert list(told(answers(wrapped, policy, gpus, deep=True))) == expected


@pytest.mark.parametrize("seed", range(2, LIBRARIES, 10))
def test_a_healthy_library_beside_it_heals_nothing(seed: int, tmp_path: Path, policy: Policy) -> None:
    """Two libraries are as good as the worse one, whichever comes first and however they are called."""
    first, second = drawn(seed), drawn(seed + 1)
    gpus = of_interest(first, seed)
    alone = [answers(written(library, tmp_path), policy, gpus) for library in (first, second)]
    folder = tmp_path / "both"
    folder.mkdir()
    for name, library in (("libone.bin", first), ("libother.bin", second)):
        written(library, tmp_path).rename(folder / name)
    rank = ("pass", "unknown", "fail")
    for one, other, together in zip(*alone, answers(folder, policy, gpus), strict=True):
        worse = max(one, other, key=lambda answer: rank.index(answer.verdict))
        assert together.verdict == worse.verdict
        assert together.fatbins.total == one.fatbins.total + other.fatbins.total
