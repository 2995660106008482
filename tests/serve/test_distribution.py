"""Answers whose token is right and whose probabilities are not."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.serve.cases import CASES
from pipeline.serve.distribution import distance
from pipeline.serve.expectation import Expectation, expectation
from pipeline.serve.model import generated_model
from pipeline.serve.outcome import CheckFailed, Fault
from tests.fixture_server.told import as_completion
from tests.serve.reading import completion_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOLERANCE = 0.34


@pytest.fixture(scope="module")
def right(models: Path) -> Expectation:
    case = CASES[0]
    assert case.recipe is not None
    model = generated_model(case.recipe, models)
    return expectation(case.recipe, model.path, model.sha256, case.prompts[0])


def rows(told: dict[str, Any], number: int = 0) -> Any:
    return told["choices"][0]["logprobs"]["content"][number]["top_logprobs"]


def every(told: dict[str, Any], change: Callable[[float], float | None]) -> None:
    for number in range(4):
        for row in rows(told, number):
            row["logprob"] = change(row["logprob"])


def test_the_reference_is_no_distance_from_itself(right: Expectation) -> None:
    assert distance(completion_of(as_completion(right)), right, TOLERANCE) == 0


def test_the_largest_distance_is_told(right: Expectation) -> None:
    told = as_completion(right)
    rows(told, 2)[7]["logprob"] -= 0.2
    assert distance(completion_of(told), right, TOLERANCE) == pytest.approx(0.2)


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], Fault]] = {
    "no numbers": (lambda told: every(told, lambda _: None), Fault.NOT_A_NUMBER),
    "one that is none": (lambda told: rows(told, 3)[5].update(logprob=None), Fault.NOT_A_NUMBER),
    "not a number": (lambda told: every(told, lambda _: math.nan), Fault.NOT_A_NUMBER),
    "infinite": (lambda told: rows(told)[9].update(logprob=-math.inf), Fault.NOT_A_NUMBER),
    "flat": (lambda told: every(told, lambda _: math.log(1 / 262)), Fault.FLAT),
    "all certain": (lambda told: every(told, lambda value: value / 100), Fault.WRONG_DISTRIBUTION),
    "hotter": (lambda told: every(told, lambda value: value / 2 - 1), Fault.WRONG_DISTRIBUTION),
    "colder": (lambda told: every(told, lambda value: value * 1.2), Fault.WRONG_DISTRIBUTION),
    "one beyond": (lambda told: rows(told, 1)[3].update(logprob=-30.0), Fault.WRONG_DISTRIBUTION),
    "another token's": (lambda told: rows(told)[4].update(bytes=[200], logprob=-9.0), Fault.WRONG_DISTRIBUTION),
    "the likeliest left out": (lambda told: rows(told).pop(2), Fault.WRONG_DISTRIBUTION),
    "one alternative": (lambda told: rows(told).__delitem__(slice(1, None)), Fault.NO_LOG_PROBABILITIES),
    "no alternatives": (lambda told: rows(told).clear(), Fault.NO_LOG_PROBABILITIES),
    "none": (lambda told: told["choices"][0].pop("logprobs"), Fault.NO_LOG_PROBABILITIES),
    "null": (lambda told: told["choices"][0].update(logprobs=None), Fault.NO_LOG_PROBABILITIES),
    "of three tokens": (lambda told: told["choices"][0]["logprobs"]["content"].pop(), Fault.NO_LOG_PROBABILITIES),
    "a longer prompt": (lambda told: told["usage"].update(prompt_tokens=99), Fault.OTHER_PROMPT),
    "another last token": (
        lambda told: told["choices"][0]["logprobs"]["content"][3].update(bytes=[110, 111]),
        Fault.WRONG_TOKEN,
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_each_wrong_distribution_is_refused_by_its_name(how: str, right: Expectation) -> None:
    change, fault = WRONG[how]
    told = copy.deepcopy(as_completion(right))
    change(told)
    with pytest.raises(CheckFailed) as failure:
        distance(completion_of(told), right, TOLERANCE)
    assert failure.value.fault is fault, failure.value.reason
    assert len(failure.value.reason) < 300
