"""When two matrix values are equal for GitHub: ``==`` of its expression language, leaf by leaf.

Text is compared without case; text, numbers, truth values and null are compared as numbers when their types differ.
Source: actions/runner, src/Sdk/WorkflowParser/Conversion/MatrixBuilder.cs (filters compare each leaf with ``==``), and
https://docs.github.com/en/actions/reference/workflows-and-actions/expressions#operators (how ``==`` coerces).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from pipeline.matrix.nodes import ListNode, MapNode, Node, ScalarNode, ScalarValue

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_PREFIXED = re.compile(r"0x[0-9a-fA-F]{1,15}|0o[0-7]{1,20}", re.ASCII)

Key = tuple[str, str | float]


def fits(wanted: Node, value: Node) -> bool:
    """Whether ``value`` matches the filter ``wanted``: every leaf of the filter equals the leaf at the same place.

    A filter without leaves (an empty list or mapping) fits anything; a leaf that ``value`` lacks counts as null.
    """
    match wanted:
        case ScalarNode():
            return isinstance(value, ScalarNode) and _equal(wanted.value, value.value)
        case ListNode():
            return all(fits(item, _item(value, index)) for index, item in enumerate(wanted.items))
        case MapNode():
            return all(fits(entry.value, _member(value, entry.key)) for entry in wanted.entries)


def _item(value: Node, index: int) -> Node:
    if isinstance(value, ListNode) and index < len(value.items):
        return value.items[index]
    return ScalarNode(value.position, None, "")


def _member(value: Node, key: str) -> Node:
    if isinstance(value, MapNode):
        for entry in value.entries:
            if _folded(entry.key) == _folded(key):
                return entry.value
    return ScalarNode(value.position, None, "")


def _equal(left: ScalarValue, right: ScalarValue) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return _folded(left) == _folded(right)
    return number(left) == number(right)


def number(value: ScalarValue) -> float:
    """``value`` coerced to a number; NaN, which equals nothing, for text that is none."""
    if not isinstance(value, str):
        return float(value or 0)
    text = value.strip()
    if not text:
        return 0.0
    if _PREFIXED.fullmatch(text):
        return float(int(text, 0))
    if _NUMBER.fullmatch(text):
        return float(text)
    return {"Infinity": math.inf, "-Infinity": -math.inf}.get(text, math.nan)


def _folded(text: str) -> str:
    if text.isascii():
        return text.upper()
    # .NET folds character by character; Python's upper() may lengthen the text.
    return "".join(upper if len(upper := c.upper()) == 1 else c for c in text)


class AxisIndex:
    """Finds the values of one axis that fit a filter, without comparing scalars one by one."""

    def __init__(self, values: Sequence[Node]) -> None:
        self._values = values
        self._places: defaultdict[Key, list[int]] = defaultdict(list)
        for place, value in enumerate(values):
            if isinstance(value, ScalarNode):
                for key in _keys(value.value):
                    self._places[key].append(place)

    def fitting(self, wanted: Node) -> Sequence[int]:
        """The places of the values that fit ``wanted``, in order."""
        if not isinstance(wanted, ScalarNode):
            return [place for place, value in enumerate(self._values) if fits(wanted, value)]
        if isinstance(wanted.value, str):
            keys: tuple[Key, ...] = (("text", _folded(wanted.value)), ("number", number(wanted.value)))
        else:
            keys = (("numeric text", number(wanted.value)), ("number", number(wanted.value)))
        return sorted(place for key in keys for place in self._places.get(key, ()))


def _keys(value: ScalarValue) -> tuple[Key, ...]:
    if isinstance(value, str):
        return ("text", _folded(value)), ("numeric text", number(value))
    return (("number", number(value)),)
