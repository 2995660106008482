"""YAML text → nodes with line and column; refuses what hides mistakes or bites: duplicate keys, alias bombs, tags.

Scalars follow the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema), as GitHub and editors do:
``yes`` and ``12:30`` are text. Infinities and NaN stay text, because JSON has none.
"""

from __future__ import annotations

import codecs
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from pipeline.errors import UsageError
from pipeline.matrix.mistakes import MatrixMistakes, Mistake
from pipeline.matrix.nodes import Entry, ListNode, MapNode, Node, ScalarNode, ScalarValue, shortened
from pipeline.model.lane import Position
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 1 << 20
MAX_NODES = 200_000
MAX_DEPTH = 32

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_PREFIXED = re.compile(r"0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?", re.ASCII)
_WORDS: dict[str, ScalarValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def read_yaml(path: Path) -> Node:
    """Read the file; ``UsageError`` when it cannot be opened, ``MatrixMistakes`` when it is not clean YAML."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}",
            remedy="name the matrix file with --matrix FILE, or let `cubingate init` write one",
        ) from error
    return parse_yaml(content, str(path))


def parse_yaml(content: bytes, name: str) -> Node:
    """The nodes of one YAML document called ``name``; ``MatrixMistakes`` with everything wrong in its form."""
    text = _decode(content, name)
    builder = _Builder(name)
    try:
        root = builder.document(yaml.parse(text, Loader=_loader()))
    except yaml.YAMLError as error:
        raise MatrixMistakes([*builder.mistakes, _syntax(error, text, name)]) from None
    if builder.mistakes:
        raise MatrixMistakes(builder.mistakes)
    if root is None or (isinstance(root, ScalarNode) and root.value is None):
        _refuse(Position(name, 1, 1), "the file is empty", "start with 'version: 1', then bundle and matrix")
    return root


def _loader() -> Any:
    # libyaml is ten times as fast; PyYAML is also published without it.
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _decode(content: bytes, name: str) -> str:
    if len(content) > MAX_BYTES:
        _refuse(Position(name, 1, 1), f"the file is larger than {MAX_BYTES >> 10} KiB", "split it into several files")
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        _refuse(_at(before, name), f"byte 0x{error.object[error.start]:02x} is not UTF-8", "save the file as UTF-8")
    control = _CONTROL.search(text)
    if control:
        what = f"the control character {printable(control[0])}"
        _refuse(_at(text[: control.start()], name), what, "remove it, or write its escape in double quotes")
    return text


def _at(before: str, name: str) -> Position:
    lines = before.split("\n")
    return Position(name, len(lines), len(lines[-1]) + 1)


def _refuse(position: Position, message: str, instead: str) -> NoReturn:
    raise MatrixMistakes([Mistake(position, message, instead)])


def _syntax(error: yaml.YAMLError, text: str, name: str) -> Mistake:
    mark = getattr(error, "problem_mark", None)
    problem = printable(str(getattr(error, "problem", None) or "not YAML"))
    if mark is None:
        return Mistake(Position(name, 1, 1), problem, "see https://yaml.org/spec/1.2.2/")
    position = Position(name, mark.line + 1, mark.column + 1)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: mark.column + 1]:
        return Mistake(position, "a tab where YAML wants spaces", "indent with spaces")
    context = getattr(error, "context", None)
    message = f"{problem} {context}" if context else problem
    return Mistake(position, message, "check indentation, quotes and brackets here and on the line above")


@dataclass(slots=True)
class _Builder:
    """Turns parser events into nodes, without recursion deeper than ``MAX_DEPTH`` and with a budget for aliases."""

    name: str
    mistakes: list[Mistake] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int]] = field(default_factory=dict)
    budget: int = MAX_NODES

    def document(self, events: Iterator[yaml.Event]) -> Node | None:
        """The root of the only document, ``None`` where there is none."""
        root: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    _refuse(self._position(event), "a second YAML document", "keep one document to a file")
                root = self._node(next(events), events, 1)
        return root

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        if depth > MAX_DEPTH:
            _refuse(
                self._position(event), f"nested more than {MAX_DEPTH} deep", "a matrix file needs a handful of levels"
            )
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._spend(event, 1)
        self._tag(event)
        node = self._content(event, events, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self.anchors[anchor] = (node, before - self.budget)
        return node

    def _content(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        position = self._position(event)
        if isinstance(event, yaml.ScalarEvent):
            if "\0" in event.value:
                self._mistake(position, "the character NUL", "remove it: no path and no argument can hold one")
            # Of a plain scalar, libyaml says style "", PyYAML's own parser None.
            return ScalarNode(position, event.value if event.style else resolve(event.value), event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return ListNode(position, tuple(self._items(events, depth)))
        return MapNode(position, tuple(self._entries(events, depth)))

    def _items(self, events: Iterator[yaml.Event], depth: int) -> Iterator[Node]:
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield self._node(event, events, depth + 1)

    def _entries(self, events: Iterator[yaml.Event], depth: int) -> Iterator[Entry]:
        seen: dict[str, int] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            key = self._node(event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            position = self._position(event)
            if not isinstance(key, ScalarNode):
                self._mistake(position, "a list or mapping as a key", "write a plain word before the colon")
            elif key.text in seen:
                message = f"duplicate key {shortened(key.text)!r}, first on line {seen[key.text]}"
                self._mistake(position, message, "keep one of the two")
            elif key.text == "<<":
                self._mistake(position, "the merge key '<<'", "put what lanes share under 'defaults' or 'flavours'")
            else:
                seen[key.text] = position.line
                yield Entry(key.text, position, value)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        if event.anchor not in self.anchors:
            # Either never defined, or an alias inside the very node that it names.
            _refuse(self._position(event), f"the alias *{event.anchor} has no finished anchor", "define it above")
        node, size = self.anchors[event.anchor]
        self._spend(event, size)
        return node

    def _spend(self, event: yaml.Event, count: int) -> int:
        before = self.budget
        self.budget -= count
        if self.budget < 0:
            message = f"more than {MAX_NODES} values, aliases counted where they are used"
            _refuse(self._position(event), message, "use fewer aliases")
        return before

    def _tag(self, event: yaml.Event) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._mistake(self._position(event), f"the tag {shortened(tag)}", "remove it; quotes make text of a value")

    def _mistake(self, position: Position, message: str, instead: str) -> None:
        self.mistakes.append(Mistake(position, printable(message), instead))

    def _position(self, event: yaml.Event) -> Position:
        mark = event.start_mark
        return Position(self.name, mark.line + 1, mark.column + 1) if mark else Position(self.name, 1, 1)


def resolve(text: str) -> ScalarValue:
    """The value of an unquoted scalar under the core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if not text[0].isdecimal() and text[0] not in "+-.":
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _PREFIXED.fullmatch(text):
        return int(text, 0)
    number = float(text) if _FLOAT.fullmatch(text) else math.inf
    return number if math.isfinite(number) else text
