"""A waiver covers what it names, as long as it counts, and nothing beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipeline.gate import Standing, judge
from pipeline.model.finding import Status
from pipeline.model.lane import Waiver
from tests.values import TERMS, bundle, cpu_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.gate import CheckStanding

NEEDED = ("needed-library", "b.tar.gz!/lib/libfoo.so")
CODE = ("fatbin-codec", "b.tar.gz!/lib/libggml-cuda.so!/.nv_fatbin!/17")


def waiver(rule: str | None = "needed-library", path: str | None = None, expires: str = "2026-02-01") -> Waiver:
    return Waiver("audit", "known upstream", "ops", expires, rule, path)


def audited(folder: Path, *waivers: Waiver, errors: tuple[tuple[str, str], ...] = (NEEDED,)) -> CheckStanding:
    lane = cpu_lane(required=("audit",), waivers=waivers)
    artifact = bundle(folder, lane)
    findings: list[dict[str, Any]] = [{"rule": rule, "path": path, "severity": "error"} for rule, path in errors]
    findings.append({"rule": "size-budget", "path": "b.tar.gz", "severity": "warning"})
    failed = record(lane, artifact, "audit", status=Status.FAIL, document={"findings": findings})
    return judge(lane, artifact, [failed], terms=TERMS).checks[0]


@pytest.mark.parametrize(
    ("waivers", "errors"),
    [
        ((waiver(),), (NEEDED,)),
        ((waiver(path="lib/libfoo.so"),), (NEEDED,)),
        ((waiver(path="lib/*"),), (NEEDED,)),
        ((waiver("fatbin-codec", "lib/libggml-*.so"),), (CODE,)),
        ((waiver(), waiver("fatbin-codec")), (NEEDED, CODE)),
        ((waiver(None),), (NEEDED, CODE)),
    ],
)
def test_what_is_named_is_waived_and_told(
    tmp_path: Path, waivers: tuple[Waiver, ...], errors: tuple[tuple[str, str], ...]
) -> None:
    stand = audited(tmp_path, *waivers, errors=errors)
    assert stand.standing is Standing.WAIVED
    assert "by ops: known upstream" in stand.reason
    assert "else failed" in stand.reason


@pytest.mark.parametrize(
    ("waivers", "errors", "words"),
    [
        ((waiver(),), (NEEDED, CODE), "no waiver covers fatbin-codec at"),
        ((waiver(path="lib/libbar.so"),), (NEEDED,), "no waiver covers needed-library"),
        ((waiver("fatbin-codec"),), (NEEDED,), "no waiver covers needed-library"),
        ((waiver(expires="2026-01-01"),), (NEEDED,), "expired on 2026-01-01"),
        ((waiver(), waiver("fatbin-codec", expires="2026-01-01")), (NEEDED, CODE), "no waiver covers fatbin-codec"),
        ((waiver(),), (), "it found no error of one"),
    ],
)
def test_what_is_not_named_still_refuses(
    tmp_path: Path, waivers: tuple[Waiver, ...], errors: tuple[tuple[str, str], ...], words: str
) -> None:
    stand = audited(tmp_path, *waivers, errors=errors)
    assert stand.standing is Standing.FAILED
    assert words in stand.reason


def test_a_rule_waives_no_missing_evidence(tmp_path: Path) -> None:
    lane = cpu_lane(required=("audit",), waivers=(waiver(),))
    verdict = judge(lane, bundle(tmp_path, lane), [], terms=TERMS)
    assert verdict.checks[0].standing is Standing.MISSING
