"""Entry points of libcuda that the tables do not know: no verdict, unless something else brings them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit.run import run_audit
from pipeline.policy import load_policy
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
POLICY = load_policy()
NEW = {"libcuda.so.1": ["cuQuantumLeap"]}


def audited(path: Path) -> AuditReport:
    return run_audit([path], [POLICY.parse_target("80@570")], POLICY)


def library(**elf: object) -> Elf:
    return Elf("libk.so", [container("12.8", "80")], **elf)  # type: ignore[arg-type]


def test_a_strong_import_that_nobody_knows_is_unknown(tmp_path: Path) -> None:
    report = audited(build(library(needed=["libcuda.so.1"], undefined=NEW), tmp_path))
    assert (report.targets[0].verdict, report.targets[0].causes) == ("unknown", ("libcuda-symbol",))
    assert any(finding.observed.startswith("imports cuQuantumLeap") for finding in report.findings)


@pytest.mark.parametrize("known", ["cuInit", "cuMemAlloc_v2"])
def test_a_known_one_passes(known: str, tmp_path: Path) -> None:
    wanted = {"libcuda.so.1": [known]}
    assert audited(build(library(needed=["libcuda.so.1"], undefined=wanted), tmp_path)).targets[0].verdict == "pass"


def test_a_weak_import_passes(tmp_path: Path) -> None:
    assert audited(build(library(needed=["libcuda.so.1"], weak=NEW), tmp_path)).targets[0].verdict == "pass"


def test_one_that_another_member_brings_passes(tmp_path: Path) -> None:
    build(Elf("libown.so", exports=["cuQuantumLeap"]), tmp_path)
    wanted = {"libown.so": ["cuQuantumLeap"]}
    build(library(needed=["libown.so", "libcuda.so.1"], undefined=wanted, runpath="$ORIGIN"), tmp_path)
    assert audited(tmp_path).targets[0].verdict == "pass"
