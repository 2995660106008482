from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.model.finding import Finding, Severity
from pipeline.model.lane import Plan, Platform, Waiver
from pipeline.report.plan import plan_github, plan_json, plan_table
from tests.values import cpu_lane, cuda_lane

PLAN = Plan(Path("matrix.yaml"), (cuda_lane(), cpu_lane()), ())
FINDING = Finding(
    rule="fatbin-codec",
    severity=Severity.ERROR,
    path="matrix.yaml:3:5",
    declared="driver >= 535",
    observed="needs 550",
    remedy="write speed",
)


def test_the_document_has_what_the_contract_says() -> None:
    document = json.loads(plan_json(PLAN, [FINDING]))
    assert (document["schema_version"], document["kind"]) == (1, "plan")
    cuda, cpu = document["lanes"]
    assert cuda["id"] == "cuda12.8-sm80"
    assert (cuda["flavour"], cuda["toolkit"], cuda["archs"]) == ("cuda", "12.8.1", ["80-real"])
    assert (cuda["compression"], cuda["driver_floor"]) == ("speed", "525.60.13")
    (target,) = cuda["targets"]
    assert {key: target[key] for key in ("sm", "driver", "gpu", "required", "runner")} == {
        "sm": "80",
        "driver": "535.288.01",
        "gpu": "A30",
        "required": True,
        "runner": [],
    }
    assert (cpu["toolkit"], cpu["archs"], cpu["driver_floor"], cpu["targets"]) == (None, [], None, [])
    assert cpu["required"] == ["audit", "smoke@cpu"]
    assert document["findings"] == [FINDING.to_json()]


def test_waivers_are_in_the_document() -> None:
    lane = cpu_lane(waivers=(Waiver("audit", "why", "who", "2027-01-31"),))
    (shown,) = json.loads(plan_json(Plan(Path("m"), (lane,), ()), []))["lanes"]
    told = {"check": "audit", "reason": "why", "owner": "who", "expires": "2027-01-31", "rule": None, "path": None}
    assert shown["waivers"] == [told]


def test_github_gets_one_line_for_from_json() -> None:
    text = plan_github(PLAN, most=256)
    assert "\n" not in text
    cuda, cpu = json.loads(text)["include"]
    assert (cuda["id"], cuda["flavour"], cuda["toolkit"]) == ("cuda12.8-sm80", "cuda", "12.8.1")
    assert cuda["targets"][0]["target"] == "80@535.288.01"
    assert cpu["runner"] == ["ubuntu-24.04"]
    assert cpu["targets"] == []


def test_a_lane_builds_on_the_runner_that_it_names_or_on_one_of_its_platform() -> None:
    lanes = (cpu_lane(runner=("self-hosted", "big")), cpu_lane(platform=Platform.AARCH64))
    rows = json.loads(plan_github(Plan(Path("m"), lanes, ()), most=2))["include"]
    assert [row["runner"] for row in rows] == [["self-hosted", "big"], ["ubuntu-24.04-arm"]]


def test_more_jobs_than_github_starts_are_refused() -> None:
    with pytest.raises(UsageError, match="2 lanes, and GitHub starts at most 1 jobs"):
        plan_github(PLAN, most=1)


def test_the_table_is_readable_without_colour() -> None:
    text = plan_table(PLAN, [FINDING], color=False)
    assert "\x1b" not in text
    head, cuda, cpu, _, count, finding = text.splitlines()
    assert head.split() == ["lane", "archs", "driver", "targets", "required", "build"]
    assert cuda.startswith("cuda12.8-sm80  80-real  >= 525.60.13  80@535.288.01")
    assert cpu.endswith("fetch")
    assert count == "2 lanes from matrix.yaml"
    assert finding == ("error: matrix.yaml:3:5: declared driver >= 535, observed needs 550; write speed (fatbin-codec)")


def test_the_table_can_have_colour() -> None:
    assert "\x1b[31merror\x1b[0m" in plan_table(PLAN, [FINDING], color=True)
