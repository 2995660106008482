"""Every rule of a comparison finds its loss between real artifacts, and nothing between equal ones."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pipeline.diff import Difference, compare
from pipeline.errors import ExitStatus, UsageError
from pipeline.inventory import take_inventory
from pipeline.model.finding import Severity, Status
from pipeline.model.lane import LOSSES
from pipeline.policy import Policy, load_policy
from tests.rules.cases import FIRST, SECOND, bundle, image
from tests.rules.forge import Elf, build, container, pack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.network


@dataclass(frozen=True, slots=True)
class Pair:
    """A release and the one after it, which lost something by ``rule``; ``alone``: by no other."""

    rule: str
    old: Callable[[Path], Path]
    new: Callable[[Path], Path]
    kernels: bool = False
    alone: bool = True


def library(names: str, codec: str = "lz4", toolkit: str = "12.8", **elf: object) -> Callable[[Path], Path]:
    return bundle(lambda: Elf("libk.so", [container(toolkit, names, codec)], **elf))  # type: ignore[arg-type]


def kernels(*entries: str) -> Callable[[Path], Path]:
    return bundle(lambda: Elf("libk.so", [pack([image("80", *entries), image("90", FIRST)], "12.8", "lz4")]))


def grown(folder: Path) -> Path:
    place = library("80 90")(folder)
    (place / "lib" / "weights.bin").write_bytes(bytes(1 << 20))
    return place


NEWER_GLIBC = {"libc.so.6": ["__isoc23_strtol@GLIBC_2.38"]}
OLDER_GLIBC = {"libc.so.6": ["strtol@GLIBC_2.2.5"]}
NEWER_CXX = {"libstdc++.so.6": ["_ZSt4cout@GLIBCXX_3.4.32"]}
OLDER_CXX = {"libstdc++.so.6": ["_ZSt4cout@GLIBCXX_3.4"]}
CXX = ["libstdc++.so.6"]

PAIRS = (
    Pair("arch-lost", library("75 80 90"), library("80 90")),
    Pair("floor-raised", library("80", toolkit="12.8"), library("80", toolkit="13.0")),
    Pair("codec-changed", library("80", "lz4"), library("80", "zstd"), alone=False),
    Pair("kernel-gone", kernels(FIRST, SECOND), kernels(FIRST), kernels=True),
    Pair("file-gone", bundle(lambda: Elf("libk.so"), lambda: Elf("libextra.so")), bundle(lambda: Elf("libk.so"))),
    Pair("needed-added", library("80"), library("80", needed=["libc.so.6", "libcudart.so.12"])),
    Pair("glibc-raised", library("80", undefined=OLDER_GLIBC), library("80", undefined=NEWER_GLIBC)),
    Pair(
        "libstdcxx-raised",
        library("80", needed=CXX, undefined=OLDER_CXX),
        library("80", needed=CXX, undefined=NEWER_CXX),
    ),
)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def compared(old: Path, new: Path, policy: Policy, *, kernels: bool = False, allow: tuple[str, ...] = ()) -> Difference:
    return compare(take_inventory(old, kernels=kernels), take_inventory(new, kernels=kernels), policy, allow=allow)


def made(pair: Pair, folder: Path) -> tuple[Path, Path]:
    old, new = pair.old(folder / "old"), pair.new(folder / "new")
    return old, new


def failed(found: Difference) -> list[str]:
    return [outcome.rule for outcome in found.outcomes if outcome.status is Status.FAIL]


def test_every_rule_that_can_fail_has_a_pair() -> None:
    assert [pair.rule for pair in PAIRS] == [rule for rule in LOSSES if rule != "size-grown"]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.rule)
def test_a_loss_is_found(pair: Pair, tmp_path: Path, policy: Policy) -> None:
    found = compared(*made(pair, tmp_path), policy, kernels=pair.kernels)
    assert pair.rule in failed(found)
    assert found.status is ExitStatus.REFUSED
    assert not pair.alone or failed(found) == [pair.rule], found.findings
    for finding in found.findings:
        assert finding.declared
        assert finding.observed
        assert finding.remedy


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.rule)
def test_the_other_way_nothing_of_the_kind_is_lost(pair: Pair, tmp_path: Path, policy: Policy) -> None:
    old, new = made(pair, tmp_path)
    assert pair.rule not in failed(compared(new, old, policy, kernels=pair.kernels))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.rule)
def test_equal_artifacts_lose_nothing(pair: Pair, tmp_path: Path, policy: Policy) -> None:
    old = pair.old(tmp_path / "old")
    shutil.copytree(old, tmp_path / "copy")
    found = compared(old, tmp_path / "copy", policy, kernels=pair.kernels)
    assert found.findings == ()
    assert found.sizes == ()
    assert found.status is ExitStatus.PASS


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.rule)
def test_a_loss_that_is_meant_is_waived_and_told(pair: Pair, tmp_path: Path, policy: Policy) -> None:
    old, new = made(pair, tmp_path)
    found = compared(old, new, policy, kernels=pair.kernels, allow=(pair.rule,))
    assert pair.rule not in failed(found)
    waived = next(outcome for outcome in found.outcomes if outcome.rule == pair.rule)
    assert waived.status is Status.WAIVED
    assert waived.reason
    notes = [finding for finding in found.findings if finding.rule == pair.rule]
    assert notes
    assert all(finding.severity is Severity.NOTE for finding in notes)


def test_growth_is_a_warning(tmp_path: Path, policy: Policy) -> None:
    found = compared(library("80 90")(tmp_path / "old"), grown(tmp_path / "new"), policy)
    assert [(finding.rule, finding.severity) for finding in found.findings] == [("size-grown", Severity.WARNING)]
    assert "weights.bin" in found.findings[0].observed
    assert found.status is ExitStatus.PASS
    assert found.sizes[0].path == "lib/weights.bin"


def test_an_architecture_that_another_serves_is_a_note(tmp_path: Path, policy: Policy) -> None:
    found = compared(library("80 86 90")(tmp_path / "old"), library("80 90")(tmp_path / "new"), policy)
    assert found.status is ExitStatus.PASS
    assert [(finding.rule, finding.severity) for finding in found.findings] == [("arch-lost", Severity.NOTE)]
    assert "sm_86 is gone, and sm_80 is left" in found.findings[0].observed


def test_machine_code_replaced_by_ptx_is_a_loss(tmp_path: Path, policy: Policy) -> None:
    found = compared(library("80 90")(tmp_path / "old"), library("80 ptx:80")(tmp_path / "new"), policy)
    assert "arch-lost" in failed(found)
    assert any("sm_90 is gone, and nothing like it" in finding.observed for finding in found.findings)


def test_without_kernels_their_rule_does_not_apply(tmp_path: Path, policy: Policy) -> None:
    found = compared(kernels(FIRST, SECOND)(tmp_path / "old"), kernels(FIRST)(tmp_path / "new"), policy)
    outcome = next(outcome for outcome in found.outcomes if outcome.rule == "kernel-gone")
    assert outcome.status is Status.NOT_APPLICABLE
    assert "--kernels" in (outcome.reason or "")


def test_all_device_code_gone_is_a_loss(tmp_path: Path, policy: Policy) -> None:
    found = compared(library("80")(tmp_path / "old"), bundle(lambda: Elf("libk.so"))(tmp_path / "new"), policy)
    assert failed(found) == ["arch-lost"]


def test_a_library_alone_is_compared_with_its_next_version(tmp_path: Path, policy: Policy) -> None:
    old = build(Elf("libk.so.1.2.3", [container("12.8", "75 80")]), tmp_path / "old")
    new = build(Elf("libk.so.1.3.0", [container("12.8", "80")]), tmp_path / "new")
    assert failed(compared(old, new, policy)) == ["arch-lost"]


def test_a_corrupt_artifact_never_passes(tmp_path: Path, policy: Policy) -> None:
    old = build(Elf("libk.so", [container("12.8", "80")]), tmp_path / "old")
    new = tmp_path / "new.so"
    new.write_bytes(old.read_bytes()[:-200])
    assert compared(old, new, policy).status is ExitStatus.CORRUPT_INPUT


def test_a_rule_that_does_not_exist_is_refused(tmp_path: Path, policy: Policy) -> None:
    place = library("80")(tmp_path / "old")
    with pytest.raises(UsageError, match="is not a rule of a comparison"):
        compared(place, place, policy, allow=("arch-missing",))
