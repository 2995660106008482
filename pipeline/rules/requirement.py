"""The conditions by which a container image asks for a driver: ``NVIDIA_REQUIRE_*`` as NVIDIA's runtime reads them.

``cuda>=12.8 brand=tesla,driver>=535``: words are alternatives, conditions joined by commas hold together, and every
variable must be met. Source: libnvidia-container, ``src/cli/dsl.c`` and ``src/cli/configure.c``; nvidia-container-
toolkit, ``internal/config/image``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX, _CUDA, _JETPACK = "NVIDIA_REQUIRE_", "NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_JETPACK"
_DISABLE, _VERSION = "NVIDIA_DISABLE_REQUIRE", "CUDA_VERSION"
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_CONDITION = re.compile(r"([^<>=!]+)(<=|>=|!=|=|<|>)([^<>=!].*)", re.DOTALL)
_NUMBERS = re.compile(r"[0-9]+(?:\.+[0-9]+)*\.*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Machine:
    """What a condition can ask of: the driver, its CUDA version, the GPU's architecture (``8.9``) and brand."""

    cuda: str
    driver: str
    arch: str
    brand: str


class Malformed(Exception):
    """A condition that the runtime cannot read: it refuses to start the container."""


def requirements(environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that are checked, with their values: none where the image disables that.

    An image with ``CUDA_VERSION`` and no ``NVIDIA_REQUIRE_CUDA`` counts as one that asks for that version.
    """
    if environment.get(_DISABLE) in _TRUE:
        return
    for name, value in environment.items():
        if name.startswith(_PREFIX) and not name.startswith(_JETPACK):
            yield name, value
    legacy = re.match(r"v?([0-9]+)\.([0-9]+)", environment.get(_VERSION, ""), re.ASCII)
    if legacy is not None and not environment.get(_CUDA):
        yield _VERSION, f"cuda>={legacy[1]}.{legacy[2]}"


def met(expression: str, machine: Machine) -> bool:
    """Whether one variable's value is met, read from the left until that is clear; ``Malformed``."""
    alternatives = [word for word in expression.split(" ") if word]
    return not alternatives or any(
        all(_holds(condition, machine) for condition in word.split(",") if condition) for word in alternatives
    )


def _holds(condition: str, machine: Machine) -> bool:
    parsed = _CONDITION.fullmatch(condition)
    if parsed is None:
        raise Malformed(condition)
    name, operator, wanted = parsed[1].lower(), parsed[2], parsed[3]
    if name == "brand" and operator in {"=", "!="}:
        return (machine.brand.lower() == wanted.lower()) is (operator == "=")
    has = {"cuda": machine.cuda, "driver": machine.driver, "arch": machine.arch}.get(name)
    if has is None or not _NUMBERS.fullmatch(wanted):
        raise Malformed(condition)
    order = _compare(has, wanted)
    return {"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[
        operator
    ]


def _compare(left: str, right: str) -> int:
    """Number by number; missing ones count as zero."""
    numbers = [[int(part) for part in text.split(".") if part] for text in (left, right)]
    for one, other in zip_longest(*numbers, fillvalue=0):
        if one != other:
            return -1 if one < other else 1
    return 0
