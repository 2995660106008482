"""Whatever id a finding can carry, ``explain`` knows it: the ids are read out of the code that makes findings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pipeline.explain import RuleExplanation, explain
from pipeline.explain.topic import Asked
from pipeline.explain.topics import TOPICS
from pipeline.matrix.lint import LINTS
from pipeline.model.lane import LOSSES
from pipeline.policy import load_policy
from pipeline.policy.tables import NAMES
from pipeline.report.explain_text import explanation_text
from pipeline.report.fold import folded
from pipeline.rules.registry import RULES

PIPELINE = Path(__file__).resolve().parents[2] / "pipeline"
POLICY = load_policy()
MAKERS = {
    "Finding": 0,
    "Claim": 0,
    "Obstacle": 0,
    "Complaint": 0,
    "Compared": 0,
    "Lint": 0,
    "found": 1,
    "claim": 0,
    "Refusal": 0,
}
"""What makes a finding, or becomes one, and where its id stands if it is not called ``rule``."""
ROOMS = ("audit", "diff", "gate", "jit", "matrix", "rehearse", "rules", "stages")
AN_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def ids_in_code() -> set[str]:
    found: set[str] = set()
    for room in ROOMS:
        for path in sorted((PIPELINE / room).glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            constants = _constants(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and (given := _rule_of(node)) is not None:
                    found |= set(_texts(given, constants))
    return found


def _rule_of(call: ast.Call) -> ast.expr | None:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name not in MAKERS:
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "rule"), None)
    place = MAKERS[name]
    return named if named is not None or len(call.args) <= place else call.args[place]


def _constants(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                for name, value in zip(names, values, strict=False):
                    if isinstance(name, ast.Name):
                        found.update({f"{name.id}{place}": text for place, text in enumerate(_texts(value, {}))})
    return found


def _texts(value: ast.expr, constants: dict[str, str]) -> list[str]:
    """The text that an expression is, or may be."""
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else []
    if isinstance(value, ast.IfExp):
        return _texts(value.body, constants) + _texts(value.orelse, constants)
    if isinstance(value, ast.Name):
        return [text for name, text in constants.items() if name.rstrip("0123456789") == value.id]
    return []


FOUND = ids_in_code() | {rule.id for rule in RULES}


def test_the_code_is_read_at_all() -> None:
    assert {"fatbin-codec", "arch-suffix", "jit-forbidden", "arch-lost", "size-grown", "github-jobs"} <= FOUND
    assert set(LOSSES) | {each.rule for each in LINTS} <= FOUND


@pytest.mark.parametrize("identifier", sorted(FOUND | {"payload"}))
def test_it_is_explained(identifier: str) -> None:
    found = explain(identifier, POLICY)
    assert isinstance(found, RuleExplanation)
    for part in ("What:", "Why:", "Remedy:", "Source:"):
        assert f"\n{part} " in found.topic.document, part
    assert explanation_text(found).startswith(identifier)


def test_nothing_is_explained_that_does_not_exist_and_nothing_twice() -> None:
    ids = [topic.id for topic in TOPICS]
    assert len(ids) == len(set(ids))
    assert set(ids) <= FOUND | {"payload"}
    assert [topic.id for topic in TOPICS if topic.asked is Asked.DIFF] == list(LOSSES)
    assert all(AN_ID.fullmatch(identifier) for identifier in ids)


def test_lints_of_their_own_are_those_that_no_rule_explains() -> None:
    rules = {rule.id for rule in RULES}
    own = {each.rule for each in LINTS} - rules | {"asset-name", "github-jobs"}
    assert {topic.id for topic in TOPICS if topic.asked is Asked.PLAN} == own


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.id)
def test_commands_that_are_named_exist(topic: object) -> None:
    document: str = topic.document  # type: ignore[attr-defined]
    assert set(re.findall(r"cubingate policy (\w+)", document)) <= set(NAMES)
    assert set(re.findall(r"cubingate explain ([\w-]+)", document)) <= {each.id for each in TOPICS}
    assert all(len(line) <= 120 for line in document.splitlines())


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.id)
def test_it_fits_a_terminal(topic: object) -> None:
    text = explanation_text(explain(topic.id, POLICY), width=80)  # type: ignore[attr-defined]
    assert all(len(line) <= 80 for line in text.splitlines())


def test_folding_keeps_every_word_and_the_indent() -> None:
    line = "  fix  " + "word " * 40
    lines = [*folded([line, "short"], 60)]
    assert " ".join(" ".join(lines).split()) == " ".join(f"{line} short".split())
    assert all(each.startswith("    word") for each in lines[1:-1])
    assert [*folded([line], 0)] == [line]
