from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import ExitStatus, NothingExamined, UsageError
from pipeline.matrix.load import load_plan
from pipeline.model.lane import PathSource, Publisher, Waiver
from tests.matrix.files import CPU, CUDA, HEAD, lanes, mistakes, mistakes_with, write

ROOT = Path(__file__).resolve().parents[2]
WAIVER = "{lane: cpu, check: smoke@cpu, reason: flaky, owner: me, expires: '2027-01-31'}"

OTHER_WAIVER = WAIVER.replace("cpu, check: smoke@cpu", "prebuilt-cpu, check: load@80@535.288.01")
ALL_OF_NOTHING = CUDA.replace("12.8.1", "15.9.1").replace("80-real", "all")


def test_the_matrix_of_this_repository() -> None:
    plan = load_plan(ROOT / "matrix.yaml")
    assert [lane.id for lane in plan.lanes] == ["prebuilt-cpu", "cpu-bookworm", "cuda13.0-sm90", "cuda12.8-sm80-120"]
    assert [lane.on_demand for lane in plan.lanes] == [False, False, True, True]
    assert plan.publishers == (Publisher("dist", "directory", str(ROOT / "dist"), partial=True),)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_load(path: Path) -> None:
    assert load_plan(path).lanes


def test_every_mistake_of_a_file_is_reported_at_once_in_order(tmp_path: Path) -> None:
    head = HEAD.replace("version: 1", "version: 2", 1).replace("sm: 80", "sm: A")
    text = f"""{head}
defaults: {{flavor: cuda}}
flavours: {{cuda: {{recipe: cmke}}}}
matrix:
  toolkit: [12.8]
  include:
    - {{source: tre, targets: [a3O, 80@9], archs: native}}
    - {{driver_floor: "536", required: []}}
extra: 1
"""
    found = mistakes(tmp_path, text)
    expected = [
        "1:10: found the number 2; write 1, the version of this format",
        "14:23: found the text 'A'; write an SM number such as 90",
        "17:12: unknown key 'flavor' in lane settings; write 'flavour'",
        "18:27: 'cmke' is not in 'recipes'; write 'cmake'",
        '20:13: found the number 12.8; put it in quotes: "12.8"',
        "22:16: 'tre' is not in 'sources'; write 'tree'",
        "22:31: 'a3O' is not in 'targets'; write 'a30'",
        "22:36: '80@9' is not the name of a target, or SM@DRIVER; write the name of a target",
        "22:50: 'native' means the GPUs of the machine that builds: name the architectures",
        "23:22: R536 is not a driver branch of the tables; name the full driver version",
        "23:39: an empty list of required checks approves anything; write at least 'audit'",
        "24:1: unknown key 'extra' in matrix.yaml; ",
    ]
    assert [line[: len(want) + 12] for line, want in zip(found, expected, strict=True)] == [
        f"matrix.yaml:{want}" for want in expected
    ]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("matrix: {include: [{source: bundle}]}", ["the lane has no 'flavour'", "the lane has no 'smoke'"]),
        (
            "matrix: {include: [{flavour: cuda, source: tree, smoke: server}]}",
            [
                "a cuda lane promises nothing without 'driver_floor'",
                "a cuda lane promises nothing without 'targets'",
                "a cuda lane that is built needs 'archs'",
                "a cuda lane that is built needs 'compression'",
                "a cuda lane that is built needs 'toolkit'",
                "a lane that is built needs 'base_image'",
                "a lane that is built needs 'recipe'",
            ],
        ),
        (
            "matrix: {include: [{flavour: cpu, source: bundle, smoke: server, toolkit: '12.8'}]}",
            ["a cpu lane has no 'toolkit'"],
        ),
        (
            f"matrix: {{include: [{CPU[:-1]}, required: [load@80@535.288.01]}}]}}",
            ["this lane has no check 'load@80@535.288.01'"],
        ),
        (f"matrix: {{include: [{CPU}, {CPU}]}}", ["2 lanes would be called 'prebuilt-cpu', the first from line 16"]),
        (
            f"matrix: {{platform: [x86_64], exclude: [{{glibc: '2.31'}}], include: [{CPU}]}}",
            ["exclude names 'glibc', which is not an axis"],
        ),
        (f"matrix: {{include: [{CPU}]}}\nwaivers: [{WAIVER}]", ["a waiver for 'cpu', which is no lane of the matrix"]),
        (
            f"matrix: {{include: [{CPU}]}}\nwaivers: [{OTHER_WAIVER}]",
            ["prebuilt-cpu does not require 'load@80@535.288.01'"],
        ),
        ("matrix: {include: [{flavour: cpu, source: nothing, smoke: server}]}", ["'nothing' is not in 'sources'"]),
        (
            f"matrix: {{include: [{ALL_OF_NOTHING}]}}",
            ["CUDA toolkit 15.9.1 is not in the policy tables"],
        ),
    ],
)
def test_what_the_schema_cannot_say(tmp_path: Path, rest: str, expected: list[str]) -> None:
    found = mistakes_with(tmp_path, rest)
    assert [line[: len(want)] for line, want in zip(found, expected, strict=True)] == expected


def test_a_bad_smoke_command_is_reported_where_it_stands(tmp_path: Path) -> None:
    head = HEAD.replace('"{model}", "{port}"', '"{modle}", "{port}"')
    (unknown, missing) = mistakes(tmp_path, f"{head}matrix: {{include: [{CPU}]}}")
    assert unknown == "matrix.yaml:12:21: the command has no {model}; hand it to the server"
    assert missing == "matrix.yaml:12:21: {modle} is filled in by nothing; write 'model'"


def test_device_words_need_a_place_and_a_meaning(tmp_path: Path) -> None:
    unplaced = HEAD.replace('"{port}"]}', '"{port}"], device_arguments: {cpu: [-ngl, "0"]}}')
    assert mistakes(tmp_path, f"{unplaced}matrix: {{include: [{CPU}]}}")[0].endswith(
        "the command has no {device}; add the word '{device}' to the command"
    )
    unknown = HEAD.replace('"{port}"]}', '"{port}", "{device}"], device_arguments: {cpu: [-ngl, "0"]}}')
    assert "{device} means nothing on a cuda lane" in mistakes(tmp_path, f"{unknown}matrix: {{include: [{CUDA}]}}")[0]


def test_device_words_are_not_part_of_a_word(tmp_path: Path) -> None:
    glued = HEAD.replace('"{port}"]}', '"{port}", "--gpu={device}"], device_arguments: {cpu: ["0"]}}')
    assert mistakes(tmp_path, f"{glued}matrix: {{include: [{CPU}]}}")[0].endswith(
        "{device} stands for several words; make it a word of its own"
    )


def test_contained_serving_needs_a_base_image(tmp_path: Path) -> None:
    head = HEAD.replace('"{port}"]}', '"{port}"], contain: true}')
    assert "needs 'base_image'" in mistakes(tmp_path, f"{head}matrix: {{include: [{CPU}]}}")[0]


def test_a_product_of_thousands_of_axes_is_refused_before_it_is_made(tmp_path: Path) -> None:
    values = [f"l{n}" for n in range(60)]
    axes = f"runner: {[[v] for v in values]}, source: {values}, glibc: {[f'2.{n}' for n in range(60)]}"
    found = mistakes_with(tmp_path, f"matrix: {{{axes}}}")
    assert found[0].startswith("216000 combinations; keep them to 100000")


def test_lanes_are_selected_by_id_in_matrix_order(tmp_path: Path) -> None:
    path = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA}, {CPU}]}}")
    assert [lane.id for lane in load_plan(path, only=["prebuilt-cpu", "cuda12.8-sm80"]).lanes] == [
        "cuda12.8-sm80",
        "prebuilt-cpu",
    ]


def test_an_unknown_lane_is_named_with_its_neighbours(tmp_path: Path) -> None:
    path = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA}, {CPU}]}}")
    with pytest.raises(UsageError, match=r"has no lane 'cuda12.8-sm8' \(it has cuda12.8-sm80\)") as caught:
        load_plan(path, only=["cuda12.8-sm8", "zzz"])
    assert "'zzz' (it has cuda12.8-sm80, prebuilt-cpu)" in str(caught.value)


@pytest.mark.parametrize("matrix", ["{}", "{include: []}", "{platform: [x86_64], exclude: [{platform: x86_64}]}"])
def test_an_empty_plan_examines_nothing(tmp_path: Path, matrix: str) -> None:
    with pytest.raises(NothingExamined) as caught:
        load_plan(write(tmp_path, f"{HEAD}matrix: {matrix}"))
    assert caught.value.status is ExitStatus.NOTHING_EXAMINED


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (lane,) = lanes(tmp_path, f"matrix: {{include: [{CUDA}]}}")
    assert lane.source == PathSource(tmp_path / "src")


def test_a_waiver_reaches_its_lane(tmp_path: Path) -> None:
    waiver = WAIVER.replace("lane: cpu", "lane: prebuilt-cpu")
    cuda, cpu = lanes(tmp_path, f"matrix: {{include: [{CUDA}, {CPU}]}}\nwaivers: [{waiver}]")
    assert cpu.waivers == (Waiver("smoke@cpu", "flaky", "me", "2027-01-31"),)
    assert cuda.waivers == ()


def test_a_root_that_is_no_mapping_is_one_mistake(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "- a\n") == [
        "matrix.yaml:1:1: found a list; write {version: …, bundle: …, sources: …, smoke: …, matrix: …} (matrix.yaml)"
    ]
