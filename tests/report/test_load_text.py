"""A load in words: counts instead of repetitions, and the rules' own errors never left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.gpu.answer import JIT_DISABLED, SUCCESS, Answer
from pipeline.gpu.forecast import Container, Forecast, Role
from pipeline.gpu.machine import LoadMachine
from pipeline.gpu.report import LoadReport, Observed
from pipeline.model.paths import MemberPath
from pipeline.model.versions import DriverVersion
from pipeline.report.load_text import disagreements, load_text
from pipeline.rules.choice import JitPass, Via

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_BINARY = "CUDA_ERROR_NO_BINARY_FOR_GPU"
MACHINE = LoadMachine(
    gpu="NVIDIA H200",
    sm=90,
    uuid="GPU-1",
    mig_profile=None,
    memory=1,
    visible=1,
    driver=DriverVersion("580.159.04"),
    module=DriverVersion("580.159.04"),
    libcuda="/usr/lib/libcuda.so.580.159.04",
    libcuda_version=DriverVersion("580.159.04"),
    cuda="13.0",
    shadowed=False,
    container=False,
)


def observed(index: int, foreseen: Sequence[str], seen: Sequence[str], via: Via = Via.CUBIN) -> Observed:
    path = MemberPath(("lib.so", ".nv_fatbin", str(index)))
    forecast = Forecast(dict(zip(JitPass, foreseen, strict=True)), via, by_design=False, why="sm_89: nothing that runs")
    answers = {jit: Answer(result, 0.5) for jit, result in zip(JitPass, seen, strict=True)}
    return Observed(Container(path, Role.KERNELS, 10, forecast), f"{index:064x}", answers)


def report(*items: Observed, left_out: Sequence[Role] = ()) -> LoadReport:
    return LoadReport(
        artifact="lib.so",
        sha256="ab" * 32,
        size=60_000_000,
        format="elf",
        machine=MACHINE,
        observed=items,
        left_out=tuple(Container(MemberPath(("lib.so", "x")), role, 1, None) for role in left_out),
        damage=(),
        policy_date="2026-11-30",
        seconds=2.0,
    )


NATIVE = (SUCCESS, SUCCESS, NO_BINARY)
BY_JIT = (SUCCESS, JIT_DISABLED, SUCCESS)
ABSENT = (NO_BINARY, NO_BINARY, NO_BINARY)


def test_a_pass_in_a_few_lines() -> None:
    text = load_text(report(observed(0, NATIVE, NATIVE), observed(1, BY_JIT, BY_JIT, Via.JIT)), color=False)
    assert "PASS  1 native, 1 by JIT, 0 missing of 2 containers" in text
    assert "JIT time       0.5 s in all, 0.5 s the longest" in text
    assert "DISAGREEMENT" not in text
    assert len(text.splitlines()) < 12


def test_what_is_missing_is_listed_up_to_a_limit() -> None:
    text = load_text(report(*(observed(index, ABSENT, ABSENT) for index in range(30))), color=False)
    assert text.count("error[load] CUDA_ERROR_NO_BINARY_FOR_GPU: sm_89: nothing that runs") == 20
    assert "… and 10 more" in text


def test_a_contradiction_names_both_sides_and_the_bytes() -> None:
    lines = disagreements(report(observed(3, ABSENT, NATIVE)))
    assert lines[0] == (
        f"DISAGREEMENT as it is: foreseen {NO_BINARY}, observed {SUCCESS}; JIT forbidden: foreseen {NO_BINARY}, "
        f"observed {SUCCESS} (lib.so!/.nv_fatbin!/3, sha256 {3:064x})"
    )
    assert lines[-1].endswith("please report it")


def test_a_cubin_where_jit_was_foreseen_is_a_contradiction_too() -> None:
    item = observed(0, (SUCCESS, SUCCESS, SUCCESS), (SUCCESS, SUCCESS, SUCCESS), Via.JIT)
    assert "foreseen to be served by jit, observed cubin" in disagreements(report(item))[0]


def test_many_contradictions_are_counted() -> None:
    lines = disagreements(report(*(observed(index, ABSENT, NATIVE) for index in range(25))))
    assert len(lines) == 22
    assert lines[20].startswith("DISAGREEMENT in 5 more")


def test_what_was_left_out_is_told() -> None:
    text = load_text(report(observed(0, NATIVE, NATIVE), left_out=[Role.RELOCATABLE, Role.RELOCATABLE]), color=False)
    assert "note: 2 relocatable containers are input of a device link, not loaded" in text
