"""What is found where is what the dynamic linker says in a bare Debian 12, file by file."""

from __future__ import annotations

import re
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from pipeline.inventory import take_inventory
from pipeline.model.cpu import CpuLevel
from pipeline.policy import load_policy
from pipeline.policy.rows import Provider
from pipeline.rules.host import HostOffer
from pipeline.rules.loader import Loader
from tests.build.lanes import BOOKWORM
from tests.rules.bundles import BUNDLES, WHEELS
from tests.toolchain import wheel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.formats.facts import ElfFacts

pytestmark = pytest.mark.docker
HOST, MISSING = "host", "missing"
Found = dict[str, str]
_LISTED = re.compile(r"\t(\S+) => (?:(/\S+) \(0x[0-9a-f]+\)|not found)")
_SCRIPT = """
/lib64/ld-linux-x86-64.so.2 --help | grep -o "x86-64-v[234] (supported" | sed 's/ .*//' | sed 's/^/level: /'
cd / && find /bundles -type f | sort | while read -r file; do
  if [ "$(head -c 4 "$file" | tail -c 3)" = ELF ]; then
    echo "file: $file"; LD_TRACE_LOADED_OBJECTS=1 /lib64/ld-linux-x86-64.so.2 "$file" 2>/dev/null
  fi
done; true
"""


def listed(root: Path) -> tuple[CpuLevel, dict[str, Found]]:
    """What the container's own linker says of every ELF file below ``root``, and the processor's level."""
    from pipeline.engine.docker import DockerEngine

    with DockerEngine.connect() as engine:
        image = engine.ensure(BOOKWORM, lambda _: None).reference
    command = ["docker", "create", "--network", "none", image, "sh", "-c", _SCRIPT]
    container = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        subprocess.run(["docker", "cp", f"{root}/.", f"{container}:/bundles"], check=True, capture_output=True)
        done = subprocess.run(["docker", "start", "-a", container], capture_output=True, text=True, check=True)
    finally:
        subprocess.run(["docker", "rm", "-f", container], check=True, capture_output=True)
    levels, files = [CpuLevel.BASELINE], dict[str, Found]()
    for line in done.stdout.splitlines():
        if line.startswith("level: "):
            levels.append(CpuLevel.parse(line.removeprefix("level: ")))
        elif line.startswith("file: "):
            files[line.removeprefix("file: /bundles/")] = current = {}
        elif found := _LISTED.match(line):
            current[found[1]] = _place(found[2])
    return max(levels), files


def _place(path: str | None) -> str:
    if path is None:
        return MISSING
    import posixpath

    return posixpath.normpath(path).removeprefix("/bundles/") if path.startswith("/bundles/") else HOST


def expected(root: Path, cpu: CpuLevel) -> dict[str, Found]:
    """What the rules think, in the same words: every bundle is an artifact of its own."""
    host = HostOffer.of(load_policy().host_libraries, None)
    answers = {}
    for folder in sorted(root.iterdir()):
        inventory = take_inventory(folder)
        loader = Loader((inventory,), cpu)
        for elf in inventory.elves:
            if elf.machine == "x86_64":
                answers[f"{folder.name}/{elf.path.name}"] = _answer(folder, loader, elf, host)
    return answers


def _answer(folder: Path, loader: Loader, elf: ElfFacts, host: HostOffer) -> Found:
    process = loader.start(elf, host)
    own = {elf.soname} if elf.soname else set()
    asked = {name for loaded in process.objects for name in loaded.elf.needed} - own
    found = {name: process.found[name] for name in asked if name in process.found}
    answer = {name: HOST if place is None else f"{folder.name}/{place.path}" for name, place in found.items()}
    return answer | {name: MISSING for _, name in process.missing if name not in answer}


def resolved(root: Path, found: Found) -> Found:
    """With links followed: the linker prints the path by which it came."""
    return {
        name: place if place in {HOST, MISSING} else str((root / place).resolve().relative_to(root.resolve()))
        for name, place in found.items()
    }


def differences(root: Path, only_there: frozenset[str] = frozenset()) -> list[str]:
    """Names on which the linker and the rules differ; ``only_there`` are the container's that no host has to have."""
    cpu, theirs = listed(root)
    ours = expected(root, cpu)
    rows = load_policy().host_libraries
    driver = {name for name, row in rows.items() if row.provider is Provider.DRIVER or not row.minimal}
    told = []
    for file, found in ours.items():
        other = theirs.get(file, {})
        one, two = resolved(root, found), resolved(root, other)
        for name in sorted(one.keys() | two.keys()):
            if two.get(name) is None and one[name] in two.values():
                continue  # another name of a library that is listed
            if name in driver or (name in only_there and two.get(name) == HOST) or name.startswith("ld-linux"):
                continue
            if one.get(name) != two.get(name) and (name in one or two[name] != HOST):
                told.append(f"{file}: {name} is {one.get(name)} here, {two.get(name)} there")
    assert ours
    return told


def test_bundles_by_gcc(tmp_path: Path) -> None:
    for bundle in BUNDLES:
        (tmp_path / bundle.__name__).mkdir()
        bundle(tmp_path / bundle.__name__)
    assert len(BUNDLES) >= 10
    assert differences(tmp_path) == []


@pytest.mark.network
def test_released_wheels(tmp_path: Path) -> None:
    unpack([wheel(requirement) for requirement in WHEELS], tmp_path)
    assert differences(tmp_path) == []


def unpack(wheels: Iterable[Path], root: Path) -> None:
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(root / path.name.partition("-")[0])
