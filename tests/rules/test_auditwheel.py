"""Symbol versions, floors and instruction sets are what ``auditwheel show`` finds in the same wheels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pipeline.inventory import take_inventory
from pipeline.model.versions import DottedVersion
from pipeline.policy import load_policy
from pipeline.rules.symbol_versions import CXXABI, GCC, GLIBC, GLIBCXX, highest_of_all
from tests.rules.bundles import WHEELS
from tests.toolchain import cache, wheel

pytestmark = pytest.mark.network
FAMILIES = (GLIBC, GLIBCXX, CXXABI, GCC)


def shown(path: Path) -> dict[str, Any]:
    """What ``auditwheel show`` says, and the symbol versions of the wheel's own files (``own``).

    Libraries that the wheel lacks and this machine happens to have are counted as the wheel's by ``show`` itself.
    """
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" not in answer:
        own = import_module("auditwheel.wheel_abi").get_wheel_elfdata(None, None, path, frozenset(), None)
        answer["own"] = {library: sorted(names) for library, names in own.versioned_symbols.items()}
    return answer


def assert_agrees(path: Path, answer: dict[str, Any]) -> None:
    elves = [elf for elf in take_inventory(path).elves if not elf.path.name.endswith(".py") and elf.machine == "x86_64"]
    versions: dict[str, set[str]] = {}
    for elf in elves:
        for library, names in elf.version_needs.items():
            if not library.startswith("ld-linux"):
                versions.setdefault(library, set()).update(names)
    assert {library: sorted(names) for library, names in versions.items()} == answer["own"], path.name
    assert all(names <= set(answer["versioned_symbols"][library]) for library, names in versions.items())
    assert floors_of(answer["own"]) == {family: str(version) for family, version in highest_of_all(elves).items()}
    assert any(elf.isa_level > 1 for elf in elves) is answer["unsupported_isa"]


def floors_of(own: dict[str, list[str]]) -> dict[str, str]:
    """The highest version of each family among those that auditwheel lists."""
    found: dict[str, list[DottedVersion]] = {}
    for names in own.values():
        for name in names:
            family, _, number = name.partition("_")
            if family in FAMILIES and number.replace(".", "").isdigit() and "." in number:
                found.setdefault(family, []).append(DottedVersion(number))
            elif name == "GLIBC_ABI_DT_RELR":
                found.setdefault(GLIBC, []).append(DottedVersion("2.36"))
    return {family: str(max(versions)) for family, versions in found.items()}


@pytest.mark.parametrize("requirement", WHEELS)
def test_a_wheel(requirement: str) -> None:
    answer = shown(wheel(requirement))
    assert "error" not in answer
    assert_agrees(wheel(requirement), answer)


def wheels_at_hand() -> list[Path]:
    """All that other tests have fetched, those of several gigabytes too, each content once."""
    extra = [Path(folder) for folder in os.environ.get("CUBINGATE_TEST_WHEELS", "").split(":") if folder]
    paths = sorted(path for folder in (cache(), *extra) for path in folder.rglob("*.whl"))
    return [*{path.name: path for path in paths if "-none-any" not in path.name}.values()]


@pytest.mark.slow
@pytest.mark.timeout(7200)  # a hundred wheels, some of gigabytes, each unpacked by auditwheel
def test_every_wheel_at_hand() -> None:
    paths = wheels_at_hand()
    assert paths
    compared = 0
    for path in paths:
        answer = shown(path)
        if "error" not in answer:
            assert_agrees(path, answer)
            compared += 1
    assert compared > len(paths) // 2


def test_the_manylinux_table_is_auditwheels() -> None:
    file = Path(str(files("auditwheel"))) / "policy" / "manylinux-policy.json"
    policies = {policy["name"]: policy for policy in json.loads(file.read_text())}
    for row in load_policy().manylinux:
        versions = policies[f"manylinux_{str(row.glibc).replace('.', '_')}"]["symbol_versions"]["x86_64"]
        for family, version in ((GLIBCXX, row.glibcxx), (CXXABI, row.cxxabi), (GCC, row.libgcc)):
            numbers = [DottedVersion(text) for text in versions[family] if text.replace(".", "").isdigit()]
            assert max(numbers).text == version.text
