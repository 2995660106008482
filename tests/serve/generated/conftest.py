from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

import pytest

from pipeline.serve.generated.recipe import recipe
from pipeline.serve.generated.reference import Llama
from pipeline.serve.model import generated_model

if TYPE_CHECKING:
    from pathlib import Path


class Read(Protocol):
    """The model of that name as mathematics."""

    def __call__(self, name: str) -> Llama: ...


@pytest.fixture(scope="session")
def read(models: Path) -> Read:
    @cache
    def reading(name: str) -> Llama:
        return Llama.read(recipe(name), generated_model(recipe(name), models).path)

    return reading
