"""Code scanning takes the log: it fits the published schema and GitHub's limits, and points where one would mend it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pipeline.explain.topics import TOPICS
from pipeline.model.lane import Position
from pipeline.report.sarif import MOST_RESULTS, sarif
from pipeline.report.sarif_rules import rule_metadata
from pipeline.rules.registry import RULES
from tests.report.conftest import finding, hostile, many, told
from tests.values import cuda_lane

if TYPE_CHECKING:
    from pipeline.report.told import Told

ROOT = PurePath("/builds/7")
LANE = cuda_lane(
    position=Position("/builds/7/ci/matrix.yaml", 12, 7),
    places={"compression": Position("/builds/7/ci/matrix.yaml", 15, 9)},
)


def run_of(report: Told, root: PurePath = ROOT) -> dict[str, Any]:
    (run,) = json.loads(sarif(report, root))["runs"]
    assert isinstance(run, dict)
    return run


def fingerprints(report: Told) -> list[str]:
    return sorted(result["partialFingerprints"]["cubingate/v1"] for result in run_of(report)["results"])


@pytest.mark.network
@pytest.mark.parametrize("report", [told(), told(lane=LANE), hostile(), many(100), told(findings=(), outcomes=())])
def test_it_fits_the_published_schema(report: Told, sarif_schema: dict[str, Any]) -> None:
    jsonschema.Draft7Validator(sarif_schema).validate(json.loads(sarif(report, ROOT)))


@pytest.mark.network
def test_the_schema_refuses_what_is_wrong(sarif_schema: dict[str, Any]) -> None:
    log = json.loads(sarif(told(), ROOT))
    log["runs"][0]["results"][0]["level"] = "grave"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(sarif_schema).validate(log)


def test_a_result_tells_both_sides_the_remedy_and_how_many() -> None:
    first, second = run_of(told())["results"]
    assert first["message"]["text"] == (
        "Zstandard-compressed cubin for sm_80 needs driver >= 550.54.14 x143. Declared: driver >= 535.288.01. "
        "Fix: build with --compress-mode=speed. In bundle.tar.gz!/lib/libggml-cuda.so!/.nv_fatbin!/17"
    )
    assert (first["level"], second["level"]) == ("error", "warning")
    assert first["occurrenceCount"] == 143


def test_with_a_lane_it_points_at_the_setting_in_matrix_yaml() -> None:
    first, second = run_of(told(lane=LANE))["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "ci/matrix.yaml"
    assert place["region"] == {"startLine": 15, "startColumn": 9}
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 12
    (binary,) = first["locations"][0]["logicalLocations"]
    assert binary["fullyQualifiedName"] == "bundle.tar.gz!/lib/libggml-cuda.so!/.nv_fatbin!/17"


def test_without_a_lane_it_points_at_the_artifact() -> None:
    place = run_of(told())["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "bundle.tar.gz"


def test_no_path_of_the_machine_is_told() -> None:
    for report in (told(), told(lane=LANE)):
        assert "/builds" not in sarif(report, ROOT)
        assert "/builds" not in sarif(report, PurePath("/elsewhere"))


def test_fingerprints_stay_whatever_the_order_the_folder_and_the_machine() -> None:
    here = told(findings=(finding(), finding(), finding(rule="ptx-isa")))
    turned = replace(here, findings=here.findings[::-1])
    moved = told(
        artifacts=(replace(here.artifacts[0], path="x/bundle.tar.gz"),),
        findings=tuple(replace(item, path=item.path.replace("/builds/7", "x")) for item in here.findings),
    )
    assert fingerprints(here) == fingerprints(turned) == fingerprints(moved)
    assert len(set(fingerprints(here))) == 3
    recounted = replace(here, findings=tuple(replace(item, count=9) for item in here.findings))
    assert fingerprints(here) == fingerprints(recounted)


def test_with_a_lane_the_name_of_the_asset_does_not_count() -> None:
    here = told(lane=LANE)
    renamed = told(
        lane=LANE,
        artifacts=(replace(here.artifacts[0], path="bundle-2.tar.gz"),),
        findings=tuple(replace(item, path=item.path.replace("/builds/7/bundle", "bundle-2")) for item in here.findings),
    )
    assert fingerprints(here) == fingerprints(renamed)


def test_with_a_lane_the_version_of_the_bundle_does_not_count() -> None:
    def of(version: str) -> list[str]:
        path = f"/builds/7/bundle.tar.gz!/server-{version}-linux-x86_64/lib/libggml-cuda.so"
        lane = replace(LANE, bundle=replace(LANE.bundle, version=version))
        return fingerprints(told(lane=lane, findings=(finding(path=path),)))

    assert of("b1233") == of("b1234")


def test_beyond_the_limit_is_counted_and_the_gravest_stay() -> None:
    run = run_of(many(100_000))
    assert len(run["results"]) == MOST_RESULTS
    (note,) = [note for note in run["invocations"][0]["toolExecutionNotifications"] if note["level"] == "warning"]
    assert note["message"]["text"] == "95000 of 100000 findings left out; JSON has all"


def test_no_rule_of_an_audit_is_without_help() -> None:
    """GitHub shows ``help.markdown`` beside an alert, and an alert without it is a riddle."""
    assert {rule.id for rule in RULES} <= {topic.id for topic in TOPICS}
    assert all("**Remedy:**" in rule_metadata(rule.id)["help"]["markdown"] for rule in RULES)


@pytest.mark.parametrize("rule", [topic.id for topic in TOPICS])
def test_every_rule_says_what_why_and_what_to_change(rule: str) -> None:
    told_of = rule_metadata(rule)
    assert 0 < len(told_of["fullDescription"]["text"]) <= 1024
    assert "Remedy" in told_of["help"]["text"] or "Remedy" in told_of["help"]["markdown"]
    assert told_of["helpUri"].endswith(rule)
