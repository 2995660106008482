"""The tree of a matrix file: scalars, lists and mappings, each knowing its line and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.model.lane import Position

ScalarValue = str | int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class ScalarNode:
    """A word or number; ``text`` is how the file spells it."""

    position: Position
    value: ScalarValue
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A sequence."""

    position: Position
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``key: value`` of a mapping."""

    key: str
    position: Position
    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class MapNode:
    """A mapping, in the order of the file; its keys are unique."""

    position: Position
    entries: tuple[Entry, ...]

    def find(self, key: str) -> Entry | None:
        """The entry of ``key``, ``None`` where the file does not have it."""
        return next((entry for entry in self.entries if entry.key == key), None)


Node = ScalarNode | ListNode | MapNode
"""Nodes are compared by identity: two equal words at different places are two nodes."""


def describe(node: Node) -> str:
    """What the reader sees there: ``the number 13.0``, ``a list``."""
    match node:
        case ListNode():
            return "a list"
        case MapNode():
            return "a mapping"
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode(value=bool()):
            return f"the truth value {node.text}"
        case ScalarNode(value=int() | float()):
            return f"the number {node.text}"
        case ScalarNode():
            return f"the text {shortened(node.text)!r}"


def shortened(text: str, limit: int = 60) -> str:
    """``text``, cut to fit a line."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def plain(node: Node) -> Any:
    """The node as JSON knows it, positions forgotten."""
    match node:
        case ListNode():
            return [plain(item) for item in node.items]
        case MapNode():
            return {entry.key: plain(entry.value) for entry in node.entries}
        case ScalarNode():
            return node.value
