from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.model.lane import GENERATED_MODELS
from pipeline.serve.cases import CASES, NAMES, cases_for


def test_matrix_files_may_name_every_case_and_no_other() -> None:
    assert set(GENERATED_MODELS) == set(NAMES)


def test_the_family_is_all_of_them_once() -> None:
    assert cases_for(["q4_k", "family", "tiny"]) == CASES
    assert [case.name for case in cases_for(["q4_k", "tiny", "q4_k"])] == ["tiny", "q4_k"]


def test_a_name_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="q5_k") as refused:
        cases_for(["q5_k"])
    assert "moe-q4_k" in (refused.value.remedy or "")
