"""Kinds of single value: each gives its JSON Schema and checks nodes, from one definition; see also ``containers``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.matrix.mistakes import Mistake, closest, listed
from pipeline.matrix.nodes import Node, ScalarNode, describe, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


class Kind(Protocol):
    """One kind of value. ``check`` yields every mistake below the node; none exactly where the JSON Schema accepts."""

    @property
    def wanted(self) -> str:
        """What to write there, in a few words: ``a list of …``."""
        ...

    def json_schema(self) -> Json:
        """JSON Schema, draft 2020-12."""
        ...

    def check(self, node: Node) -> Iterator[Mistake]:
        """Every mistake in ``node`` and below it."""
        ...


def wrong(node: Node, kind: Kind) -> Mistake:
    """The mistake of having something else where a value of ``kind`` belongs."""
    return Mistake(node.position, f"found {describe(node)}", f"write {kind.wanted}")


@dataclass(frozen=True, slots=True)
class Text:
    """A string. ``pattern`` must match all of it and mean the same to Python and ECMAScript; ``what`` names it."""

    what: str
    example: str
    pattern: str = r"[\s\S]+"

    @property
    def wanted(self) -> str:
        """``a toolkit version such as "13.0.2"``."""
        return f'{self.what} such as "{self.example}"'

    def json_schema(self) -> Json:
        """A string with its pattern."""
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "examples": [self.example]}

    def check(self, node: Node) -> Iterator[Mistake]:
        """Numbers get the advice to put quotes around them: YAML reads 12.10 as 12.1."""
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            if not re.fullmatch(self.pattern, node.value):
                yield Mistake(node.position, f"{shortened(node.value)!r} is not {self.what}", f"write {self.wanted}")
        elif isinstance(node, ScalarNode) and node.value is not None and re.fullmatch(self.pattern, node.text):
            yield Mistake(node.position, f"found {describe(node)}", f'put it in quotes: "{node.text}"')
        else:
            yield wrong(node, self)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """``one of …``."""
        return f"one of {listed(self.words)}"

    def json_schema(self) -> Json:
        """An enum."""
        return {"enum": list(self.words)}

    def check(self, node: Node) -> Iterator[Mistake]:
        """Also suggests the nearest word."""
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            yield wrong(node, self)
        elif node.value not in self.words:
            near = closest(node.value, self.words)
            message = f"{shortened(node.value)!r} is not {self.wanted}"
            yield Mistake(node.position, message, near if near.startswith("write") else f"write {self.wanted}")


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    wanted: str = "true or false"

    def json_schema(self) -> Json:
        """A boolean."""
        return {"type": "boolean"}

    def check(self, node: Node) -> Iterator[Mistake]:
        """Only YAML 1.2's true and false are booleans."""
        if not isinstance(node, ScalarNode) or not isinstance(node.value, bool):
            yield wrong(node, self)


@dataclass(frozen=True, slots=True)
class Seconds:
    """A duration above zero and at most a day."""

    wanted: str = "seconds, such as 120"
    longest: int = 86_400

    def json_schema(self) -> Json:
        """A bounded number."""
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.longest}

    def check(self, node: Node) -> Iterator[Mistake]:
        """A boolean is not a number here."""
        number = node.value if isinstance(node, ScalarNode) else None
        if isinstance(number, bool) or not isinstance(number, int | float):
            yield wrong(node, self)
        elif not 0 < number <= self.longest:
            message = f"{shortened(str(number))} seconds"
            yield Mistake(node.position, message, f"write more than 0 and at most {self.longest}")


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number within bounds."""

    wanted: str
    least: int
    most: int

    def json_schema(self) -> Json:
        """A bounded integer."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def check(self, node: Node) -> Iterator[Mistake]:
        """JSON Schema counts 90.0 as an integer, so this does too."""
        number = node.value if isinstance(node, ScalarNode) else None
        whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
        if isinstance(number, bool) or not whole or not self.least <= float(str(number)) <= self.most:
            yield wrong(node, self)
