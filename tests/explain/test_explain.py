"""Rules and CUDA errors are found by whatever users have in hand, and everything that is named exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.explain import ErrorExplanation, RuleExplanation, errors_in, explain
from pipeline.explain.advice import ADVICE
from pipeline.explain.changes import CHANGES
from pipeline.explain.topics import TOPICS
from pipeline.policy import Policy, load_policy
from pipeline.report.explain_text import explanation_text
from pipeline.report.rules_markdown import rules_markdown
from pipeline.rules.registry import RULES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("200", 200),
        ("device kernel image is invalid", 200),
        ("CUDA error: device kernel image is invalid", 200),
        ("CUDA_ERROR_INVALID_IMAGE", 200),
        ("cudaErrorInvalidKernelImage", 200),
        ("the provided PTX was compiled with an unsupported toolchain.", 222),
        ("unsupported toolchain", 222),
        ("no kernel image is available", 209),
        ("CUDA error 209 in launch", 209),
        ("named symbol not found", 500),
        ("CUDA driver version is insufficient for CUDA runtime version", 35),
        ("804", 804),
        ("cudaErrorMemoryAllocation", 2),
    ],
)
def test_errors(policy: Policy, query: str, code: int) -> None:
    found = explain(query, policy)
    assert isinstance(found, ErrorExplanation)
    assert found.error.code == code
    assert str(code) in explanation_text(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rules(policy: Policy, rule: object) -> None:
    identifier: str = rule.id  # type: ignore[attr-defined]
    found = explain(identifier, policy)
    assert isinstance(found, RuleExplanation)
    text = explanation_text(found)
    assert text.startswith(identifier)
    assert "Remedy:" in text


@pytest.mark.parametrize("query", ["nonsense", "12345", "", "of"])
def test_unknown(policy: Policy, query: str) -> None:
    with pytest.raises(UsageError):
        explain(query, policy)


def test_a_near_miss_is_named(policy: Policy) -> None:
    with pytest.raises(UsageError, match="fatbin-codec"):
        explain("fatbincodec", policy)


def test_the_codec_failure_is_told_with_its_fix(policy: Policy) -> None:
    text = explanation_text(explain("fatbin-codec", policy))
    assert "GGML_CUDA_COMPRESSION_MODE=speed" in text
    for tool in ("ggml", "CMake", "nvcc", "torch"):
        assert f"\n  {tool}" in text


def test_errors_in_a_log(policy: Policy) -> None:
    log = "ggml_cuda_compute_forward: MUL_MAT failed\nCUDA error: device kernel image is invalid\n  current device: 0\n"
    assert [error.code for error in errors_in(log, policy)] == [200]
    assert errors_in("all is well, no errors", policy) == ()


def test_everything_named_exists(policy: Policy) -> None:
    rules = {rule.id for rule in RULES}
    codes = {error.code for error in policy.errors}
    assert {advice.code for advice in ADVICE} <= codes
    assert {item.rule for advice in ADVICE for item in advice.candidates} - {""} <= rules
    assert {change.rule for change in CHANGES} <= {topic.id for topic in TOPICS}


def test_the_page_of_rules_is_current() -> None:
    assert (ROOT / "docs" / "rules.md").read_text() == rules_markdown(), (
        "print it again: cubingate explain --all > docs/rules.md"
    )
