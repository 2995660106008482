"""What a driver does with containers, worked out apart from the code under test: by tables and rules of documents.

Tables: ``tests/data/foreseen``, each row with its source. Rules: CUDA C++ Programming Guide, "Binary Compatibility";
NVCC manual, "GPU Feature List" and ``--compress-mode``; CUDA Compatibility, "Minor Version Compatibility"; and what an
H200 with driver 580.159.04 did with 32 containers (``tests/data/observed``).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data" / "foreseen"
NATIVE, JIT, NOTHING = "native", "jit", "nothing"
NO_BINARY, INVALID_IMAGE = "CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_INVALID_IMAGE"
NEW_PTX, OLD_WORD_FOR_IT = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_INVALID_PTX"
NO_JIT = "CUDA_ERROR_JIT_COMPILATION_DISABLED"
ZSTANDARD, ABI_8 = (550, 54, 14), (555, 42, 2)
OF_MAJOR = {"11": (450, 80, 2), "12": (525, 60, 13), "13": (580, 65, 6)}
FIRST_BRANCH_WITH_ITS_OWN_WORD = 450

Version = tuple[int, ...]


def version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True, slots=True)
class Gpu:
    first_branch: int
    last_branch: int
    integrated: bool
    family: frozenset[int]


MAX_PTX = {int(row["branch"]): version(row["max_ptx"]) for row in _rows("branches.csv")}
FIRST_DRIVERS = [row["first_driver"] for row in _rows("branches.csv") if row["first_driver"]]
GPUS = {
    int(row["sm"]): Gpu(
        int(row["first_branch"] or 0),
        int(row["last_branch"] or 999),
        row["integrated"] == "yes",
        frozenset(int(sm) for sm in row["family"].split()),
    )
    for row in _rows("gpus.csv")
}
FLOORS = sorted({*FIRST_DRIVERS, "390.157", "450.80.02", "525.60.13", "580.65.06", "550.54.14"}, key=version)
"""Every driver at which something begins to work."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``arch`` is the bare name (``90a``); ``ptx`` the ISA version that the toolkit writes."""

    kind: str
    arch: str
    toolkit: str
    ptx: str
    codec: str

    @property
    def number(self) -> int:
        return int(self.arch.rstrip("af"))

    @property
    def suffix(self) -> str:
        return self.arch[-1] if self.arch[-1] in "af" else ""

    def runs_on(self, sm: int) -> bool:
        if self.suffix == "a":
            return sm == self.number
        if self.suffix == "f":
            return sm in GPUS[self.number].family and sm >= self.number
        if self.kind == "ptx":
            return sm >= self.number
        if GPUS[self.number].integrated or GPUS[sm].integrated:
            return sm == self.number
        return sm // 10 == self.number // 10 and sm >= self.number


Container = tuple[Entry, ...]
Trouble = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fate:
    """How a container is served, and each (rule, CUDA error) that stands in the way."""

    via: str
    troubles: frozenset[Trouble] = frozenset()


def fate(container: Container, sm: int, driver: str, jit: str = "as-is") -> Fate:
    """A cubin that runs wins over any PTX; of either kind the highest architecture is taken, then judged."""
    able = [entry for entry in container if entry.runs_on(sm)]
    cubins = [entry for entry in able if entry.kind == "cubin" and jit != "forced"]
    texts = [entry for entry in able if entry.kind == "ptx"]
    if cubins:
        return Fate(NATIVE, frozenset(_cubin_troubles(_highest(cubins), version(driver))))
    if not texts:
        return Fate(NOTHING, frozenset({("arch-missing", NO_BINARY), ("arch-suffix", NO_BINARY)}))
    if jit == "forbidden":
        return Fate(JIT, frozenset({("", NO_JIT)}))
    return Fate(JIT, frozenset(_ptx_troubles(_highest(texts), version(driver))))


def _highest(entries: list[Entry]) -> Entry:
    return max(entries, key=lambda entry: (entry.number, entry.suffix == "a", entry.suffix == "f"))


def _codec(entry: Entry, driver: Version) -> set[Trouble]:
    return {("fatbin-codec", INVALID_IMAGE)} if entry.codec == "zstd" and driver < ZSTANDARD else set()


def _cubin_troubles(entry: Entry, driver: Version) -> set[Trouble]:
    found = _codec(entry, driver)
    major = entry.toolkit.partition(".")[0]
    if driver < OF_MAJOR[major]:
        found.add(("toolkit-major", INVALID_IMAGE))
    if (major == "13" or entry.number >= 100) and driver < ABI_8:
        found.add(("cubin-abi", INVALID_IMAGE))
    return found


def _ptx_troubles(entry: Entry, driver: Version) -> set[Trouble]:
    found = _codec(entry, driver)
    branch = max(number for number in MAX_PTX if number <= driver[0])
    if version(entry.ptx) > MAX_PTX[branch]:
        found.add(("ptx-isa", NEW_PTX if branch >= FIRST_BRANCH_WITH_ITS_OWN_WORD else OLD_WORD_FOR_IT))
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """``causes`` and ``errors`` may come in any order here; empty where all is well."""

    verdict: str
    causes: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()


def unserved(sm: int, driver: str) -> str:
    """The rule by which the driver does not see the GPU, empty where it does."""
    branch = version(driver)[0]
    if branch > max(MAX_PTX):
        return "outside-policy"
    if branch > GPUS[sm].last_branch:
        return "driver-retired"
    return "driver-too-old-for-gpu" if branch < GPUS[sm].first_branch else ""


def verdict(library: tuple[Container, ...], sm: int, driver: str, jit: str = "as-is") -> Verdict:
    """The whole library; what is by design absent does not count."""
    reason = unserved(sm, driver)
    if reason:
        return Verdict("unknown" if reason == "outside-policy" else "fail", frozenset({reason}))
    troubles = {
        trouble
        for container in library
        if not absent_by_design(container, library, sm, driver)
        for trouble in fate(container, sm, driver, jit).troubles
    }
    if not troubles:
        return Verdict("pass")
    return Verdict("fail", frozenset(rule for rule, _ in troubles), frozenset(error for _, error in troubles))


def absent_by_design(container: Container, library: tuple[Container, ...], sm: int, driver: str) -> bool:
    """Nothing but ``a`` and ``f`` images, none for this GPU, beside general containers that are all there for it."""
    general = [other for other in library if not all(entry.suffix for entry in other)]
    complete = bool(general) and all(fate(other, sm, driver).via != NOTHING for other in general)
    specific = all(entry.suffix for entry in container)
    return specific and complete and fate(container, sm, driver).via == NOTHING


def minimum(library: tuple[Container, ...], sm: int) -> str | None:
    """The lowest driver on which the library passes."""
    return next((driver for driver in FLOORS if verdict(library, sm, driver).verdict == "pass"), None)
