"""Every lint has a violating lane that it must name and healthy twins on which it is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import ExitStatus, UsageError
from pipeline.matrix.lint import LINTS, demand_sound, failed, lint
from pipeline.matrix.load import load_plan
from pipeline.model.finding import Finding, Severity
from pipeline.policy import load_policy
from tests.matrix.files import CPU, CUDA, HEAD, write

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.lane import Lane, Plan, Position

POLICY = load_policy()
WHEELS = CUDA.replace("cuda, toolkit: 12.8.1", "bookworm, toolkit: 13.0.2, toolkit_from: wheels")
NEW = WHEELS.replace("525.60.13", "580.65.06").replace("[a30]", "[80@580]")
PTX = CUDA.replace("80-real", "80-virtual").replace("[a30]", "[80@570]")


def plan(folder: Path, *combinations: str) -> Plan:
    return load_plan(write(folder, f"{HEAD}matrix: {{include: [{', '.join(combinations)}]}}"), policy=POLICY)


def found(folder: Path, *combinations: str) -> list[Finding]:
    return list(lint(plan(folder, *combinations), POLICY))


@pytest.mark.parametrize("combination", [CUDA, NEW, PTX.replace("525.60.13", "570.86.10"), CPU])
def test_healthy_lanes_have_no_finding(tmp_path: Path, combination: str) -> None:
    assert found(tmp_path, combination) == []


# Each: the rule, a lane that breaks it, what must be said, and the nearest lane that does not.
CASES: list[tuple[str, str, str, str]] = [
    (
        "toolkit-arch",
        CUDA.replace("80-real", "80-real;103-real"),
        "toolkit 12.8.1 cannot emit 103-real; use toolkit 12.9 or later, or drop 103",
        CUDA.replace("80-real", "80-real;90a-real").replace("525.60.13", "'525'"),
    ),
    (
        "toolkit-arch",
        NEW.replace("80-real", "80-real;61-real"),
        "toolkit 13.0.2 cannot emit 61-real; use toolkit 11.0 to 12.9, or drop 61",
        NEW,
    ),
    (
        "toolkit-arch",
        CUDA.replace("80-real", "35-real;80-real;120-real").replace("[a30]", "[a30, 120@570]"),
        "toolkit 12.8.1 cannot emit 35-real; drop 35, or split the lane by toolkit",
        CUDA,
    ),
    (
        "compression-mode",
        CUDA.replace("12.8.1", "12.4.1"),
        "toolkit 12.4.1 has no --compress-mode=speed; write compression: default",
        CUDA.replace("12.8.1", "12.4.1").replace("speed", "default"),
    ),
    ("toolkit-wheels", WHEELS.replace("13.0.2", "12.9.1"), "the wheels of CUDA 12 have no nvcc", NEW),
    (
        "base-image-toolkit",
        CUDA.replace("12.8.1", "12.9.1"),
        'the image holds toolkit 12.8.1; write toolkit: "12.8.1", or use nvidia/cuda:12.9.1-devel-ubuntu22.04',
        CUDA.replace("12.8.1", "'12.8'"),
    ),
    ("base-image-toolkit", CUDA.replace("cuda, toolkit", "bookworm, toolkit"), "the image has no CUDA toolkit", NEW),
    ("base-image-toolkit", NEW.replace("bookworm", "cuda"), "the image holds toolkit 12.8.1 already", NEW),
    (
        "toolkit-major",
        WHEELS,
        "CUDA 13 needs driver >= 580.65.06; raise driver_floor and targets to 580.65.06, or use a toolkit of CUDA 12",
        NEW,
    ),
    (
        "fatbin-codec",
        CUDA.replace("speed", "size"),
        "--compress-mode=size of toolkit 12.8.1 needs driver >= 550.54.14; write compression: speed",
        CUDA.replace("speed", "balance"),
    ),
    (
        "fatbin-codec",
        CUDA.replace("speed", "size"),
        "declared cuda12.8-sm80: driver >= 525.60.13",
        CUDA.replace("speed", "size").replace("525.60.13", "550.54.14").replace("[a30]", "[80@550]"),
    ),
    (
        "fatbin-codec",
        PTX.replace("speed", "balance").replace("80@570", "80@535"),
        "--compress-mode=balance of toolkit 12.8.1 needs driver >= 550.54.14",
        PTX.replace("525.60.13", "570.86.10"),
    ),
    (
        "ptx-isa",
        CUDA.replace("80-real", "80-real;90-virtual").replace("[a30]", "[a30, 90@535]"),
        "PTX ISA 8.7, which needs driver >= 570.86.10; add 90-real to archs, or raise the driver to 570.86.10",
        CUDA.replace("80-real", "80-real;90-virtual").replace("[a30]", "[a30, 90@570]"),
    ),
    ("ptx-isa", PTX, "archs 80-virtual on driver 525.60.13", PTX.replace("525.60.13", "570.86.10")),
    (
        "arch-missing",
        CUDA.replace("[a30]", "[a30, 90@535]"),
        "target 90@535.54.03, observed no image in 80-real; add 90-real to archs",
        CUDA.replace("80-real", "'80'").replace("[a30]", "[a30, 90@570]"),
    ),
    ("arch-missing", CUDA.replace("80-real", "86-real"), "target 80@535.288.01, observed no image in 86-real", CUDA),
    (
        "arch-suffix",
        NEW.replace("80-real", "100a-real").replace("80@580", "103@580"),
        "target 103@580.65.06, observed 100a-real is for other GPUs; add 103-real",
        NEW.replace("80-real", "100f-real").replace("80@580", "103@580"),
    ),
    (
        "driver-too-old-for-gpu",
        CUDA.replace("80-real", "80-real;120-real").replace("[a30]", "[a30, 120@550]"),
        "target 120@550.54.14, observed sm_120 is served from driver 570.86.10 on",
        CUDA.replace("80-real", "80-real;120-real").replace("[a30]", "[a30, 120@570]"),
    ),
    (
        "driver-too-old-for-gpu",
        CUDA.replace("80-real", "80-real;89-real").replace("[a30]", "[a30, 89@515]"),
        "target 89@515.43.04, observed sm_89 is served from driver 520.61.05 on",
        CUDA.replace("80-real", "80-real;89-real").replace("[a30]", "[a30, 89@520.56.06]"),  # as RTX 4090 came
    ),
    (
        "driver-retired",
        CUDA.replace("80-real", "61-real").replace("[a30]", "[61@590]"),
        "target 61@590.44.01, observed sm_61 is served up to R580; promise 61 on R580 or older",
        CUDA.replace("80-real", "61-real").replace("[a30]", "[61@580]"),
    ),
    (
        "driver-retired",
        CUDA.replace("80-real", "61-real;80-real").replace("525.60.13", "590.44.01").replace("[a30]", "[80@590]"),
        "arch 61 with driver >= 590.44.01",
        CUDA.replace("80-real", "61-real;80-real"),
    ),
    (
        "arch-floor",
        CUDA.replace("80-real", "80-real;120-real"),
        "sm_120 is served from driver 570.86.10 on; declare the target 120@570.86.10, or drop 120 from archs",
        CUDA.replace("80-real", "80-real;120-real").replace("[a30]", "[a30, 120@570]"),
    ),
    (
        "arch-floor",
        CUDA.replace("80-real", "120-real").replace("[a30]", "[120@570]"),
        "the first driver that knows any of 120-real is 570.86.10; write driver_floor: 570.86.10",
        CUDA.replace("80-real", "120-real").replace("[a30]", "[120@570]").replace("525.60.13", "570.86.10"),
    ),
    (
        "target-floor",
        CUDA.replace("525.60.13", "550.54.14"),
        "target 80@535.288.01, observed driver_floor is 550.54.14",
        CUDA.replace("525.60.13", "535.288.01"),
    ),
    (
        "unproven-target",
        f"{CUDA[:-1]}, required: [audit, smoke@cpu]}}",
        "no check of it is required; add load@80@535.288.01, smoke@80@535.288.01 to required",
        f"{CUDA[:-1]}, required: [audit, load@80@535.288.01, smoke@80@535.288.01]}}",
    ),
]
WARNINGS = ("driver >= 590.44.01", "sm_120 is served from", "no check of it")


@pytest.mark.parametrize(("rule", "violating", "said", "healthy"), CASES)
def test_a_violating_lane_is_named_and_its_healthy_twin_is_not(
    tmp_path: Path, rule: str, violating: str, said: str, healthy: str
) -> None:
    complaints = [each for each in found(tmp_path, violating) if each.rule == rule]
    lines = [f"{each.sentence}; {each.remedy}" for each in complaints]
    assert any(said in line for line in lines), lines
    assert all(each.path.startswith(f"{tmp_path}/matrix.yaml:16:") for each in complaints)
    warned = any(word in said for word in WARNINGS) and rule != "driver-too-old-for-gpu"
    assert {each.severity for each in complaints} == {Severity.WARNING if warned else Severity.ERROR}
    assert [each for each in found(tmp_path, healthy) if each.rule == rule] == []


def test_a_misnamed_gpu(tmp_path: Path) -> None:
    head = HEAD.replace("{gpu: A30, sm: 80", "{gpu: a40, sm: 80")
    findings = lint(load_plan(write(tmp_path, f"{head}matrix: {{include: [{CUDA}]}}")), POLICY)
    assert [(each.rule, each.observed, each.remedy) for each in findings] == [
        ("gpu-name", "a40 is sm_86", "write sm: 86")
    ]


def test_every_lint_has_a_case() -> None:
    assert {each.rule for each in LINTS} - {"gpu-name"} <= {rule for rule, *_ in CASES}


def test_a_runtime_image_has_no_compiler(tmp_path: Path) -> None:
    head = HEAD.replace("12.8.1-devel", "12.8.1-runtime")
    (finding,) = lint(load_plan(write(tmp_path, f"{head}matrix: {{include: [{CUDA}]}}")), POLICY)
    assert finding.observed == "a runtime image has no nvcc"
    assert finding.remedy == "use nvidia/cuda:12.8.1-devel-ubuntu22.04"


def test_what_the_tables_do_not_know_is_said_and_not_guessed(tmp_path: Path) -> None:
    findings = found(tmp_path, CUDA.replace("80-real", "130-real").replace("[a30]", "[130@999]"))
    assert {each.severity for each in findings if "unknown" in each.observed} == {Severity.WARNING}
    assert any("sm_130 is not in the policy tables of" in each.observed for each in findings)


def test_codec_findings_name_the_targets_they_decide_about(tmp_path: Path) -> None:
    lane = CUDA.replace("speed", "size").replace("[a30]", "[a30, 80@550]")
    (finding,) = found(tmp_path, lane)
    assert finding.targets == ("80@535.288.01",)
    assert finding.path.endswith(f":{CUDA.index('compression: ') + len('matrix: {include: [compression: ') + 1}")


def test_one_finding_stands_for_all_lanes_that_share_the_place(tmp_path: Path) -> None:
    defaults = CUDA.replace("compression: speed, ", "")
    matrix = "{compression: [size, speed], glibc: ['2.31', '2.35']}"
    plan = load_plan(write(tmp_path, f"{HEAD}defaults: {defaults}\nmatrix: {matrix}"), policy=POLICY)
    (codec,) = [each for each in lint(plan, POLICY) if each.rule == "fatbin-codec"]
    assert codec.count == 2
    assert codec.declared == "cuda12.8-sm80-size-2.31 and 1 more: driver >= 525.60.13"


def test_two_lanes_cannot_be_one_asset(tmp_path: Path) -> None:
    other = f"{CUDA[:-1]}, id: other}}"
    (finding,) = found(tmp_path, CUDA, other)
    assert finding.rule == "asset-name"
    assert finding.observed == "all would be published as server-1.0-linux-x86_64-cuda12.8.tar.gz"
    assert found(tmp_path, CUDA, f"{other[:-1]}, bundle: {{name: b, version: '1'}}}}") == []


def test_more_lanes_than_github_starts_are_a_warning(tmp_path: Path) -> None:
    rest = f"defaults: {CPU}\nmatrix: {{glibc: {[f'2.{n}' for n in range(257)]}}}"
    (finding,) = lint(load_plan(write(tmp_path, HEAD + rest)), POLICY)
    assert (finding.rule, finding.severity) == ("github-jobs", Severity.WARNING)


def test_errors_refuse_a_plan_and_warnings_do_not(tmp_path: Path) -> None:
    warned = plan(tmp_path, CUDA.replace("80-real", "80-real;120-real"))
    assert [each.rule for each in demand_sound(warned, POLICY)] == ["arch-floor"]
    assert not failed(lint(warned, POLICY))
    with pytest.raises(UsageError, match=r"matrix.yaml:16:\d+: declared .*fatbin-codec") as caught:
        demand_sound(plan(tmp_path, CUDA.replace("speed", "size")), POLICY)
    assert caught.value.status is ExitStatus.USAGE


class Spy:
    """A lane that writes down which of its settings were looked at, in value or place."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.seen.add({"prebuilt": "source", "toolkit_origin": "toolkit_from"}.get(name, name))
        return getattr(self._lane, name)

    def place(self, setting: str) -> Position:
        self.seen.add(setting)
        return self._lane.place(setting)


@pytest.mark.parametrize("each", LINTS, ids=lambda each: each.rule)
def test_a_lint_looks_at_no_more_than_it_says(tmp_path: Path, each: Any) -> None:
    """Lanes that are alike in ``settings`` share their findings, so nothing else may decide them."""
    for rule, violating, _, healthy in CASES:
        for combination in (violating, healthy) if rule == each.rule else (healthy,):
            (lane,) = plan(tmp_path, combination).lanes
            for variant in (lane, replace(lane, toolkit=None, archs=(), compression=None, driver_floor=None)):
                spy = Spy(variant)
                list(each.complain(spy, POLICY))
                assert spy.seen <= set(each.settings), rule
