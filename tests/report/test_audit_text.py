"""What a maintainer reads of an audit: on a terminal of 80 columns, in a log, in colour, each thing once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.model.finding import Status
from pipeline.policy import load_policy
from pipeline.report.audit_text import audit_text
from tests.rules.forge import Elf, build, container
from tests.rules.saved import save_image

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
POLICY = load_policy()
LONG = "llama-server-with-a-long-name-1.0-linux-x86_64-cuda12"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> AuditReport:
    """An asset named cuda12 that links cublas 13."""
    root = tmp_path_factory.mktemp("bundle") / LONG
    build(Elf("libk.so", [container("13.0", "80")], needed=["libcublas.so.13", "libc.so.6"], runpath="$ORIGIN"), root)
    build(Elf("libcublas.so.13"), root)
    return run_audit([root], [POLICY.parse_target("80@550"), POLICY.parse_target("80@580")], POLICY)


def test_it_fits_a_terminal_and_loses_no_word(report: AuditReport) -> None:
    whole, narrow = audit_text(report), audit_text(report, width=80)
    assert whole.split() == narrow.split()
    wide = [line for line in narrow.splitlines() if len(line) > 80]
    assert all(line.split()[0] in {"at", "declared"} or LONG in line.split()[0] for line in wide), wide
    assert any(len(line) > 80 for line in whole.splitlines())


def test_colour_changes_nothing_else(report: AuditReport) -> None:
    for width in (0, 80):
        painted = audit_text(report, colour=True, width=width)
        assert "\x1b[31mFAIL\x1b[0m     80@550.54.14" in painted
        assert re.sub(r"\x1b\[[0-9]+m", "", painted) == audit_text(report, width=width)


def test_a_rule_is_told_once_with_what_it_warns_of(report: AuditReport) -> None:
    text = audit_text(report)
    assert len(re.findall(r"^\w+\[toolkit-mismatch\]", text, re.MULTILINE)) == 1
    assert "error[toolkit-mismatch] linked with libcublas.so.13 of CUDA 13\n  also  (warning) cubins of CUDA 13" in text
    assert text.count("  fix  ") == text.count("  at  ") == len(re.findall(r"^\w+\[", text, re.MULTILINE))


def test_what_a_driver_is_needed_for_is_said(report: AuditReport) -> None:
    assert "device code needs driver >= 580.65.06 (toolkit-major)" in audit_text(report)


def test_layers_are_named_as_engines_do(tmp_path: Path) -> None:
    build(Elf("libk.so", [container("12.8", "80")]), tmp_path / "layer" / "app")
    image = save_image([tmp_path / "layer"], tmp_path / "image.tar", {})
    found = run_audit([image], [POLICY.parse_target("90@580")], POLICY)
    assert re.search(r"!/sha256:[0-9a-f]{12}…!/app/libk\.so", audit_text(found))
    assert re.search(r"!/sha256:[0-9a-f]{64}!/app/libk\.so", found.findings[0].path)


def test_an_error_that_refuses_nothing_says_so(report: AuditReport) -> None:
    said = "nothing was promised, so nothing is refused: --target, --host or --lane says what has to hold"
    assert report.outcomes
    failed = replace(report.outcomes[0], status=Status.FAIL, reason="x")
    unasked = replace(report, asked=False, outcomes=(failed,))
    assert said in audit_text(unasked)
    assert said not in audit_text(replace(unasked, asked=True))
    assert said not in audit_text(replace(unasked, outcomes=()))


def test_one_of_a_kind_is_not_told_as_several(tmp_path: Path) -> None:
    build(Elf("libk.so", [container("12.8", "80")]), tmp_path / "app")
    text = audit_text(run_audit([tmp_path / "app" / "libk.so"], [POLICY.parse_target("80@580")], POLICY))
    assert "1 file, 1 ELF, 1 fatbin with 1 cubin and 0 PTX" in text
