"""PTX that a JIT refuses for what stands in it, found in every audit, with a healthy twin for each; ptxas agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit.run import run_audit
from pipeline.model.finding import Status
from pipeline.policy import Policy, load_policy
from tests.rehearse.assemblers import ptx
from tests.rules.cases import entry, image
from tests.rules.forge import Elf, build, pack
from tests.toolchain import Image, ToolFailed, ptxas

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
TANH = "tanh.approx.f32 %f1, %f2;"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def text(body: str, target: str = "70") -> Image:
    return Image("ptx", target, ptx(body, version="8.0", target=f"sm_{target}").encode())


def audited(
    folder: Path, targets: list[str], policy: Policy, *images: Image, codec: str = "none", **how: bool
) -> AuditReport:
    path = build(Elf("libk.so", [pack(list(images), "12.8", codec)]), folder)
    return run_audit([path], [policy.parse_target(target) for target in targets], policy, **how)  # type: ignore[arg-type]


def taken(found: Image, arch: str) -> bool:
    """Whether ptxas takes it."""
    try:
        ptxas("12.8", f"sm_{arch}", found.content.decode())
    except ToolFailed:
        return False
    return True


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("deep", [False, True])
def test_an_instruction_that_the_texts_own_target_lacks_fails_everywhere(
    codec: str, tmp_path: Path, policy: Policy, *, deep: bool
) -> None:
    """Also on GPUs that have it: the text says for which target it is written."""
    assert not taken(text(TANH), "90")
    report = audited(tmp_path, ["70@570", "90@570"], policy, text(TANH), codec=codec, deep=deep)
    for answer in report.targets:
        assert (answer.verdict, answer.causes) == ("fail", ("jit-feature",))
        assert answer.errors == ("CUDA_ERROR_INVALID_PTX",)
        assert answer.jit_forced.verdict == "fail"
        assert answer.floor.driver == ""
    assert "tanh.approx.f32 in PTX 8.0 for compute_70: begins with sm_75" in {item.observed for item in report.findings}


@pytest.mark.parametrize(
    "body",
    [
        f"// {TANH}",
        f"/* {TANH}\n*/",
        f'.pragma "nounroll; {TANH}";',
        "ex2.approx.f32 %f1, %f2;",
    ],
    ids=["line", "block", "string", "older"],
)
def test_comments_strings_and_older_instructions_are_none(body: str, tmp_path: Path, policy: Policy) -> None:
    assert taken(text(body), "90")
    report = audited(tmp_path, ["70@570", "90@570"], policy, text(body))
    assert {answer.verdict for answer in report.targets} == {"pass"}
    assert {answer.jit_forced.verdict for answer in report.targets} == {"pass"}
    assert next(item for item in report.outcomes if item.rule == "jit-feature").status is Status.PASS


def test_the_same_for_the_architecture_that_has_it(tmp_path: Path, policy: Policy) -> None:
    assert taken(text(TANH, "75"), "90")
    assert audited(tmp_path, ["90@570"], policy, text(TANH, "75")).targets[0].verdict == "pass"


def test_a_cubin_that_serves_hides_it_until_jit_is_forced(tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, ["90@570", "80@570"], policy, text(TANH), image("90", entry("k")))
    native, compiled = report.targets
    assert (native.verdict, native.jit_forced.verdict, native.jit_forced.errors) == (
        "pass",
        "fail",
        ("CUDA_ERROR_INVALID_PTX",),
    )
    assert compiled.verdict == "fail"


@pytest.mark.parametrize(("size", "expected"), [(48 << 10, "pass"), ((48 << 10) + 1, "unknown"), (100 << 10, "fail")])
def test_static_shared_memory_of_ptx(size: int, expected: str, tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, ["120@570"], policy, image("80", entry("big", shared=size), kind="ptx"), codec="zstd")
    (answer,) = report.targets
    assert answer.verdict == answer.jit_forced.verdict == expected
    assert answer.causes == (() if expected == "pass" else ("static-shared-memory",))
    assert answer.errors == (("CUDA_ERROR_INVALID_PTX",) if expected == "fail" else ())


@pytest.mark.parametrize(("size", "expected"), [(48 << 10, "pass"), (50 << 10, "unknown")])
def test_static_shared_memory_of_a_cubin(size: int, expected: str, tmp_path: Path, policy: Policy) -> None:
    """Assemblers of 13.x take more than 48 KiB for sm_100a."""
    big = image("100a", entry("big", shared=size), toolkit="13.0")
    path = build(Elf("libk.so", [pack([big], "13.0", "none")]), tmp_path)
    report = run_audit([path], [policy.parse_target("100@580")], policy)
    assert report.targets[0].verdict == expected


@pytest.mark.parametrize("body", [TANH, "ex2.approx.f32 %f1, %f2;"])
def test_a_bare_file_is_read_too(body: str, tmp_path: Path, policy: Policy) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(text(body).content)
    answer = run_audit([path], [policy.parse_target("90@570")], policy).targets[0]
    assert (answer.verdict == "fail") is (body == TANH)


def test_what_is_too_much_to_read_is_told(tmp_path: Path, policy: Policy) -> None:
    """More than 4 MiB of text in one file: its header decides, and the report says that it does."""
    long = text(TANH + "\n" + "add.f32 %f1, %f1, %f2;\n" * (200 << 10))
    report = audited(tmp_path, ["90@570"], policy, long, codec="zstd")
    assert report.targets[0].verdict == "pass"
    (payload,) = (item for item in report.outcomes if item.rule == "payload")
    assert "payload not examined" in (payload.reason or "")
    assert "1 PTX texts not read" in (payload.reason or "")
