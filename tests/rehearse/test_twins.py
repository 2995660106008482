"""Each fault that an assembler finds, with its healthy twin: real ptxas of the driver's own CUDA version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pipeline.model.finding import Severity, Verdict
from pipeline.policy import Policy, load_policy
from pipeline.rules.assembly import Ending
from tests.rehearse.assemblers import audited, only, ptx
from tests.rules.cases import entry

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network

INVALID = "CUDA_ERROR_INVALID_PTX"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def rehearsed(folder: Path, text: str, target: str, policy: Policy) -> AuditReport:
    path = folder / "k.ptx"
    path.write_text(text)
    return audited(path, target, policy)


def messages(report: AuditReport, rule: str) -> list[str]:
    return [finding.observed for finding in report.findings if finding.rule == rule]


@dataclass(frozen=True, slots=True)
class Feature:
    """An instruction, the driver and SM that lack it, and the first SM that has it."""

    body: str
    version: str
    lacking: str
    having: str
    words: str


FEATURES = {
    "no_allocate": Feature(
        "ld.global.L1::no_allocate.f32 %f1, [%rd1];",
        "7.4",
        "61@580",
        "70@580",
        "Modifier '.no_allocate' on 'ld' requires .target sm_70 or higher",
    ),
    "tanh": Feature(
        "tanh.approx.f32 %f1, %f2;", "7.0", "61@535", "75@535", "Feature 'tanh' requires .target sm_75 or higher"
    ),
    "scoped atomics": Feature(
        "atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], %r2;",
        "7.0",
        "61@550",
        "70@550",
        "Feature '.acq_rel' requires .target sm_70 or higher",
    ),
    "half atomics": Feature(
        "atom.global.add.noftz.f16 %h1, [%rd1], %h2;",
        "7.0",
        "61@525",
        "70@525",
        "Instruction 'atom.add.f16.global' requires .target sm_70 or higher",
    ),
    "asynchronous copies": Feature(
        "cp.async.commit_group;",
        "7.0",
        "75@580",
        "80@580",
        "Feature 'cp.async.commit_group' requires .target sm_80 or higher",
    ),
    "wgmma": Feature(
        "wgmma.fence.sync.aligned;",
        "8.0",
        "90@535",
        "",
        "Instruction 'wgmma.fence' not supported on .target 'sm_90'",
    ),
}


@pytest.mark.parametrize("name", FEATURES)
def test_an_instruction_that_the_gpu_lacks(name: str, tmp_path: Path, policy: Policy) -> None:
    case = FEATURES[name]
    lowest = f"sm_{case.lacking.partition('@')[0]}"
    report = rehearsed(tmp_path, ptx(case.body, version=case.version, target=lowest), case.lacking, policy)
    assert report.targets[0].causes == ("jit-feature",)
    assert report.targets[0].errors == (INVALID,)
    (message,) = messages(report, "jit-feature")
    assert case.words in message
    assert "line 8, kern, ptxas" in message
    assert report.status == 1


@pytest.mark.parametrize("name", [name for name in FEATURES if FEATURES[name].having])
def test_the_first_gpu_that_has_it_takes_the_same_lines(name: str, tmp_path: Path, policy: Policy) -> None:
    case = FEATURES[name]
    target = f"sm_{case.having.partition('@')[0]}"
    report = rehearsed(tmp_path, ptx(case.body, version=case.version, target=target), case.having, policy)
    assert (report.targets[0].verdict, report.status) == (Verdict.PASS, 0)
    assert only(report).ending is Ending.ACCEPTED
    assert [kernel.name for kernel in only(report).kernels] == ["kern"]
    assert only(report).seconds > 0


def test_an_a_target_is_compiled_as_one(tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, ptx("wgmma.fence.sync.aligned;", version="8.0", target="sm_90a"), "90@535", policy)
    assert (only(report).arch, only(report).ending) == ("90a", Ending.ACCEPTED)


@pytest.mark.parametrize(
    ("version", "target", "verdict"),
    [("8.2", "61@535", Verdict.PASS), ("8.3", "61@535", Verdict.FAIL), ("7.5", "75@470", Verdict.FAIL)],
)
def test_the_isa_ends_where_the_driver_does(
    version: str, target: str, verdict: Verdict, tmp_path: Path, policy: Policy
) -> None:
    report = rehearsed(tmp_path, ptx("", version=version), target, policy)
    assert report.targets[0].verdict is verdict
    assert only(report).ending is (Ending.ACCEPTED if verdict is Verdict.PASS else Ending.REFUSED)
    assert len(messages(report, "ptx-isa")) == (verdict is Verdict.FAIL), "the audit says it, and nobody twice"


def test_pascal_on_r580_by_the_last_assembler_that_knew_it(tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, ptx("", version="8.8"), "61@580", policy)
    assert report.targets[0].verdict is Verdict.PASS
    assert report.rehearsal is not None
    assembler = report.rehearsal.targets[0].assembler
    assert assembler is not None
    assert assembler.words == "ptxas 12.9.86 in place of CUDA 13.0"
    assert assembler.reads == "8.8"


def test_pascal_on_r580_with_ptx_that_no_assembler_reads_is_unknown(tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, ptx("", version="9.0"), "61@580", policy)
    assert (report.targets[0].verdict, report.status) == (Verdict.UNKNOWN, 1)
    assert only(report).ending is Ending.NO_ASSEMBLER
    assert "no assembler for sm_61 reads PTX 9.0: ptxas 12.9.86 ends at 8.8" in messages(report, "rehearsal")[0]


def shared(size: int, target: str) -> str:
    body = "mov.u64 %rd2, tile; st.shared.u32 [tile], %r1;"
    return ptx(body, target=target, before=f".shared .align 4 .b8 tile[{size}];")


@pytest.mark.parametrize(
    ("size", "target", "verdict"),
    [
        (48 << 10, "61@535", Verdict.PASS),
        ((48 << 10) + 4, "61@535", Verdict.FAIL),  # all that a block may have there
        ((48 << 10) + 4, "80@535", Verdict.UNKNOWN),  # the GPU has it; what a driver's JIT says is not documented
        ((163 << 10) + 4, "80@535", Verdict.FAIL),
        (48 << 10, "90@535", Verdict.PASS),
        ((227 << 10) + 4, "90@535", Verdict.FAIL),
    ],
)
def test_static_shared_memory(size: int, target: str, verdict: Verdict, tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, shared(size, "sm_60"), target, policy)
    assert report.targets[0].verdict is verdict
    told = messages(report, "static-shared-memory")
    if verdict is Verdict.PASS:
        assert (told, only(report).kernels[0].name) == ([], "kern")
    else:
        assert "uses too much shared data" in told[0]
        assert only(report).complaints[0].excess == size
        assert report.targets[0].errors == ((INVALID,) if verdict is Verdict.FAIL else ())


@pytest.mark.parametrize(
    ("bounds", "severities", "verdict"),
    [
        (".reqntid 1024, 1, 1\n.maxnreg 200", [Severity.ERROR], Verdict.FAIL),
        (".maxntid 1024, 1, 1\n.maxnreg 200", [Severity.WARNING], Verdict.PASS),
        (".reqntid 1024, 1, 1", [], Verdict.PASS),
    ],
)
def test_registers(bounds: str, severities: list[Severity], verdict: Verdict, tmp_path: Path, policy: Policy) -> None:
    head = ".version 7.0\n.target sm_80\n.address_size 64\n"
    report = rehearsed(tmp_path, head + entry("heavy", bounds, registers=240), "80@535", policy)
    assert report.targets[0].verdict is verdict
    told = [finding for finding in report.findings if finding.rule == "register-budget"]
    assert [finding.severity for finding in told] == severities
    assert all("200 registers x 1024 threads are 204800 of 65536" in finding.observed for finding in told)


@pytest.mark.parametrize(
    ("body", "before", "words"),
    [
        ("moov.u32 %r1, %tid.x;", "", "Not a name of any known instruction: 'moov'"),
        ("mov.u32 %zz, %tid.x;", "", "Unknown symbol '%zz'"),
        ("call nothing;", ".extern .func nothing;", "Unresolved extern function 'nothing'"),
    ],
)
def test_what_is_wrong_for_no_better_reason(body: str, before: str, words: str, tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, ptx(body, before=before), "61@535", policy)
    assert report.targets[0].causes == ("rehearsal",)
    assert report.targets[0].errors == (INVALID,)
    assert any(words in message for message in messages(report, "rehearsal"))
