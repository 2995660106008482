"""The matrix of a file → rows of settings: axes expanded, flavours and defaults underneath."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from pipeline.errors import CubingateError
from pipeline.matrix.archs import parse_archs
from pipeline.matrix.definitions import mapping
from pipeline.matrix.expand import expand
from pipeline.matrix.lanes import Row
from pipeline.matrix.mistakes import Mistake, closest
from pipeline.matrix.nodes import ListNode, MapNode, Node, ScalarNode, plain
from pipeline.matrix.settings import BROKEN, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.matrix.expand import Combination
    from pipeline.matrix.settings import SettingsReader
    from pipeline.model.lane import Position
    from pipeline.model.versions import ToolkitVersion
    from pipeline.policy import Policy

MAX_COMBINATIONS = 100_000


@dataclass(frozen=True, slots=True)
class MatrixNode:
    """The ``matrix`` of a file, taken apart."""

    position: Position
    axes: dict[str, tuple[Node, ...]]
    exclude: tuple[MapNode, ...]
    include: tuple[MapNode, ...]

    @classmethod
    def of(cls, node: Node) -> MatrixNode:
        """Take a node apart; what is not well-formed in it is left out (the schema has reported it)."""
        parts = mapping(node)
        axes = {name: items for name, part in parts.items() if name in KINDS and (items := _items(part))}
        return cls(node.position, axes, _maps(parts.get("exclude")), _maps(parts.get("include")))

    @property
    def several(self) -> list[str]:
        """The axes with more than one value."""
        return [name for name, values in self.axes.items() if len(values) > 1]

    def settings(self) -> Iterator[tuple[str, Node]]:
        """Every setting in it that can reach a lane."""
        for name, values in self.axes.items():
            yield from ((name, value) for value in values)
        for entry in self.include:
            yield from mapping(entry).items()

    def mistakes(self) -> Iterator[Mistake]:
        """What GitHub refuses as well, and a product too large to plan."""
        for filter_ in self.exclude:
            for entry in filter_.entries:
                if entry.key not in self.axes:
                    message = f"exclude names {entry.key!r}, which is not an axis of the matrix"
                    yield Mistake(entry.position, message, closest(entry.key, self.axes))
        size = prod(len(values) for values in self.axes.values())
        if size > MAX_COMBINATIONS:
            yield Mistake(self.position, f"{size} combinations", f"keep them to {MAX_COMBINATIONS}")

    def combinations(self) -> Iterator[Combination]:
        """The rows by GitHub's rules."""
        include = [mapping(node) for node in self.include]
        return expand(self.axes, [mapping(node) for node in self.exclude], include)


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, ListNode) else ()


def _maps(node: Node | None) -> tuple[MapNode, ...]:
    return tuple(item for item in _items(node) if isinstance(item, MapNode)) if node is not None else ()


class RowMaker:
    """Lays combinations over the defaults of their flavour and over those of the file."""

    def __init__(self, reader: SettingsReader, root: MapNode, matrix: MatrixNode) -> None:
        self._reader = reader
        parts = mapping(root)
        self._defaults = _settings(parts.get("defaults"))
        self._flavours = {name: _settings(node) for name, node in _settings(parts.get("flavours")).items()}
        self._layers: dict[Any, tuple[dict[str, object], dict[str, Position]]] = {}
        # A row that an include entry makes stands where the entry begins.
        self._starts = {entry.entries[0].value: entry.position for entry in matrix.include if entry.entries}
        self._spelled: dict[Node, str] = {}

    def read_defaults(self) -> None:
        """Read every default, so that a mistake in one that no lane uses is found as well."""
        for layer in (self._defaults, *self._flavours.values()):
            for name, node in layer.items():
                self._reader.read(name, node)

    def row(self, combination: Combination) -> Row:
        """The settings of one lane-to-be."""
        read = self._reader.read
        own = {name: read(name, node) for name, node in combination.items()}
        values, places = self._layer(own["flavour"] if "flavour" in own else self._default_flavour())
        first = next(iter(combination.values()))
        return Row(
            position=self._starts.get(first, first.position),
            values=values | own,
            places=places | {name: node.position for name, node in combination.items()},
            combination={name: self._spell(node) for name, node in combination.items()},
        )

    def _default_flavour(self) -> object:
        node = self._defaults.get("flavour")
        return self._reader.read("flavour", node) if node is not None else None

    def _layer(self, flavour: object) -> tuple[dict[str, object], dict[str, Position]]:
        if flavour not in self._layers:
            nodes = self._defaults | self._flavours.get(str(flavour), {})
            self._layers[flavour] = (
                {name: self._reader.read(name, node) for name, node in nodes.items()},
                {name: node.position for name, node in nodes.items()},
            )
        return self._layers[flavour]

    def _spell(self, node: Node) -> str:
        if node not in self._spelled:
            value = plain(node)
            self._spelled[node] = node.text if isinstance(node, ScalarNode) else _joined(value)
        return self._spelled[node]


def _settings(node: Node | None) -> dict[str, Node]:
    return mapping(node) if node is not None else {}


def _joined(value: Any) -> str:
    words = value.values() if isinstance(value, dict) else value
    return " ".join(str(word) for word in words)


class ArchWords:
    """Turns ``all`` and ``all-major`` into architectures, once for each toolkit."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[tuple[str, ToolkitVersion], object] = {}

    def resolve(self, row: Row, mistakes: list[Mistake]) -> Row:
        """The row with a list of architectures; ``BROKEN`` in it where the tables do not know the toolkit."""
        word = row.values.get("archs")
        if not isinstance(word, str) or "toolkit" not in row.values:
            return row
        key = (word, row.values["toolkit"])
        if key not in self._known:
            self._known[key] = self._look_up(row, key, mistakes)
        return replace(row, values={**row.values, "archs": self._known[key]})

    def _look_up(self, row: Row, key: tuple[str, ToolkitVersion], mistakes: list[Mistake]) -> object:
        try:
            return parse_archs(key[0], self._policy.toolkit(key[1]).archs)
        except (CubingateError, ValueError) as error:
            mistakes.append(row.wrong("toolkit", str(error), "list the architectures instead of 'all'"))
            return BROKEN


def rows_of(matrix: MatrixNode, maker: RowMaker, words: ArchWords, mistakes: list[Mistake]) -> Sequence[Row]:
    """All rows in matrix order, broken ones left out."""
    rows = (words.resolve(row, mistakes) for row in map(maker.row, matrix.combinations()) if not row.broken)
    return [row for row in rows if not row.broken]
