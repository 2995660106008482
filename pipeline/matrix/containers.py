"""Kinds that hold others: lists, records, named values, variants."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.matrix.kinds import Json, Kind, wrong
from pipeline.matrix.mistakes import Mistake, closest
from pipeline.matrix.nodes import ListNode, MapNode, Node, ScalarNode, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Items:
    """A list. ``unique`` is for lists of text only."""

    item: Kind
    least: int = 0
    unique: bool = False

    @property
    def wanted(self) -> str:
        """``a list, each item …``."""
        return f"a list: [{self.item.wanted}]"

    def json_schema(self) -> Json:
        """An array."""
        schema: Json = {"type": "array", "items": self.item.json_schema()}
        return (
            schema | ({"minItems": self.least} if self.least else {}) | ({"uniqueItems": True} if self.unique else {})
        )

    def check(self, node: Node) -> Iterator[Mistake]:
        """Too few items, repeated items, and each item's own mistakes."""
        if not isinstance(node, ListNode):
            yield wrong(node, self)
            return
        if len(node.items) < self.least:
            yield Mistake(node.position, "an empty list", f"write {self.wanted}, or remove the key")
        for item in node.items:
            yield from self.item.check(item)
        if self.unique:
            yield from _repeated(node)


def _repeated(node: ListNode) -> Iterator[Mistake]:
    seen: set[str] = set()
    for item in node.items:
        if isinstance(item, ScalarNode) and isinstance(item.value, str):
            if item.value in seen:
                yield Mistake(item.position, f"{shortened(item.value)!r} is listed twice", "keep one of the two")
            seen.add(item.value)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a record, with the sentence that editors and the documentation show."""

    name: str
    kind: Kind
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known keys; others are mistakes. ``least`` is how many keys it must have at all."""

    what: str
    keys: tuple[Key, ...]
    least: int = 0
    known: dict[str, Key] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", {key.name: key for key in self.keys})

    @property
    def wanted(self) -> str:
        """``{git: …} (a source)``."""
        names = [key.name for key in self.keys if key.required] or [self.keys[0].name]
        return f"{{{', '.join(f'{name}: …' for name in names)}}} ({self.what})"

    def json_schema(self) -> Json:
        """A closed object."""
        properties = {key.name: _described(key) for key in self.keys}
        schema: Json = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [key.name for key in self.keys if key.required]
        return (
            schema
            | ({"required": required} if required else {})
            | ({"minProperties": self.least} if self.least else {})
        )

    def check(self, node: Node) -> Iterator[Mistake]:
        """Unknown keys, missing keys, and each value's own mistakes."""
        if not isinstance(node, MapNode):
            yield wrong(node, self)
            return
        for entry in node.entries:
            key = self.known.get(entry.key)
            if key is None:
                message = f"unknown key {shortened(entry.key)!r} in {self.what}"
                yield Mistake(entry.position, message, closest(entry.key, self.known))
            else:
                yield from key.kind.check(entry.value)
        present = {entry.key for entry in node.entries}
        for key in self.keys:
            if key.required and key.name not in present:
                yield Mistake(node.position, f"{self.what} has no {key.name!r}", f"add {key.name}: {key.kind.wanted}")
        if len(node.entries) < self.least:
            yield Mistake(node.position, f"{self.what} is empty", f"write at least {self.keys[0].name!r}, or remove it")


def _described(key: Key) -> Json:
    return {"description": key.description, **key.kind.json_schema()}


@dataclass(frozen=True, slots=True)
class Named:
    """A mapping from names that the file chooses to values of one kind."""

    what: str
    item: Kind
    name: str = r"[A-Za-z0-9][A-Za-z0-9._-]*"

    @property
    def wanted(self) -> str:
        """``{NAME: …} (sources by name)``."""
        return f"{{NAME: …}} ({self.what} by name)"

    def json_schema(self) -> Json:
        """An open object whose names have a pattern."""
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^(?:{self.name})$"},
            "additionalProperties": self.item.json_schema(),
        }

    def check(self, node: Node) -> Iterator[Mistake]:
        """Names outside the pattern, and each value's own mistakes."""
        if not isinstance(node, MapNode):
            yield wrong(node, self)
            return
        for entry in node.entries:
            if not re.fullmatch(self.name, entry.key):
                message = f"{shortened(entry.key)!r} cannot be a name here"
                yield Mistake(entry.position, message, "use letters, digits, dot, underscore and dash")
            yield from self.item.check(entry.value)


@dataclass(frozen=True, slots=True)
class Variants:
    """A record of one of several shapes, told apart by which shape's first key is there."""

    what: str
    shapes: tuple[Record, ...]

    @property
    def wanted(self) -> str:
        """``a source with one of git, path, …``."""
        return f"{self.what} with one of the keys {', '.join(self.firsts)}"

    @property
    def firsts(self) -> tuple[str, ...]:
        """The telling keys."""
        return tuple(shape.keys[0].name for shape in self.shapes)

    def json_schema(self) -> Json:
        """The shapes exclude each other, because each has its own first key and no shape knows another's."""
        return {"oneOf": [shape.json_schema() for shape in self.shapes]}

    def check(self, node: Node) -> Iterator[Mistake]:
        """The mistakes against the shape whose first key the node has."""
        if not isinstance(node, MapNode):
            yield wrong(node, self)
            return
        found = [shape for shape in self.shapes if node.find(shape.keys[0].name)]
        if len(found) == 1:
            yield from found[0].check(node)
        elif found:
            names = " and ".join(shape.keys[0].name for shape in found)
            yield Mistake(node.position, f"{self.what} with {names} at once", "keep one of them")
        else:
            for entry in node.entries:
                near = closest(entry.key, self.firsts)
                if near.startswith("write"):
                    yield Mistake(entry.position, f"unknown key {shortened(entry.key)!r} in {self.what}", near)
                    return
            yield Mistake(node.position, f"{self.what} with none of {', '.join(self.firsts)}", "add one of them")


@dataclass(frozen=True, slots=True)
class Shared:
    """A kind that the JSON Schema defines once, under ``$defs``, and refers to by name."""

    name: str
    kind: Kind

    @property
    def wanted(self) -> str:
        """As the kind says."""
        return self.kind.wanted

    def json_schema(self) -> Json:
        """A reference."""
        return {"$ref": f"#/$defs/{self.name}"}

    def check(self, node: Node) -> Iterator[Mistake]:
        """As the kind does."""
        return self.kind.check(node)
