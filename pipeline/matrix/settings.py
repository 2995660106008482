"""The settings of lanes as values of the model: each node is read once, however many lanes share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.matrix import schema, sections
from pipeline.matrix.archs import ALL, ALL_MAJOR, parse_archs
from pipeline.matrix.definitions import Definitions, Section, driver_version, read_bundle, sound, text, words
from pipeline.matrix.mistakes import Mistake
from pipeline.matrix.nodes import ListNode, Node, ScalarNode
from pipeline.model.cpu import CpuLevel
from pipeline.model.lane import CompressionMode, Flavour, Platform, Target, ToolkitOrigin
from pipeline.model.size import parse_size
from pipeline.model.versions import GlibcVersion, GlibcxxVersion, ToolkitVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.policy import Policy

KINDS = {key.name: key.kind for key in schema.SETTINGS}
WORDS: dict[str, Callable[[str], object]] = {
    "id": str,
    "flavour": Flavour,
    "platform": Platform,
    "toolkit": ToolkitVersion,
    "toolkit_from": ToolkitOrigin,
    "compression": CompressionMode,
    "glibc": GlibcVersion,
    "glibcxx": GlibcxxVersion,
    "cpu": CpuLevel.parse,
    "size_budget": parse_size,
}


class Broken:
    """Stands for a value with a mistake that is already on the list."""


BROKEN = Broken()


class SettingsReader:
    """Reads settings; what is wrong with them goes to ``mistakes``, once for each place in the file."""

    def __init__(self, definitions: Definitions, policy: Policy, mistakes: list[Mistake]) -> None:
        self._policy = policy
        self._mistakes = mistakes
        self._known: dict[tuple[str, Node], object] = {}
        self._targets = definitions.targets
        self._jit_sources = definitions.jit_sources
        self._sections: Mapping[str, Section[Any]] = {
            "source": definitions.sources,
            "previous": definitions.sources,
            "recipe": definitions.recipes,
            "base_image": definitions.base_images,
            "smoke": definitions.smoke,
        }
        self._others: Mapping[str, Callable[[Node], object]] = {
            "archs": self._archs,
            "driver_floor": self._driver,
            "targets": lambda node: self._all(node, self._target),
            "jit_sources": lambda node: self._all(node, self._jit_source),
            "required": self._checks,
            "bundle": read_bundle,
            "on_demand": lambda node: isinstance(node, ScalarNode) and node.value is True,
            "host_libraries": words,
            "by_design": words,
            "never_by_design": words,
            "may_lose": words,
            "runner": words,
        }

    def read(self, name: str, node: Node) -> object:
        """The value of setting ``name``, or ``BROKEN``."""
        key = (name, node)
        if key not in self._known:
            self._known[key] = self._fresh(name, node)
        return self._known[key]

    def _fresh(self, name: str, node: Node) -> object:
        if name not in KINDS or not sound(KINDS[name], node):
            if name == "targets":
                self._all(node, self._target)  # one bad item must not hide the others' mistakes
            return BROKEN
        if name in self._sections:
            return self._named(self._sections[name], node)
        return WORDS[name](text(node)) if name in WORDS else self._others[name](node)

    def _mistake(self, node: Node, message: str, instead: str) -> Broken:
        self._mistakes.append(Mistake(node.position, message, instead))
        return BROKEN

    def _named(self, section: Section[Any], node: Node) -> object:
        name = text(node)
        if name in section.values:
            return section.values[name]
        if name not in section.names and isinstance(node, ScalarNode):
            self._mistakes.append(section.unknown(node))
        return BROKEN

    def _archs(self, node: Node) -> object:
        """The architectures; ``all`` and ``all-major`` stay words until the lane's toolkit is known."""
        written = text(node)
        if written in {ALL, ALL_MAJOR}:
            return written
        try:
            return parse_archs(written, ())
        except ValueError as error:
            return self._mistake(node, str(error), "write such as 80-real;90a-real;120-virtual")

    def _driver(self, node: Node) -> object:
        try:
            return driver_version(text(node), self._policy)
        except UsageError as error:
            return self._mistake(node, error.message, error.remedy or "write such as 535.288.01")

    def _all(self, node: Node, read: Callable[[Node], object]) -> object:
        values = [read(item) for item in node.items] if isinstance(node, ListNode) else []
        return BROKEN if BROKEN in values else tuple(values)

    def _jit_source(self, node: Node) -> object:
        return self._named(self._jit_sources, node)

    def _target(self, node: Node) -> Target | Broken:
        if not sound(sections.TARGET, node):
            return BROKEN
        name = text(node)
        if "@" not in name:
            found = self._named(self._targets, node)
            return found if isinstance(found, Target) else BROKEN
        try:
            return self._policy.parse_target(name)
        except UsageError as error:
            return self._mistake(node, error.message, error.remedy or "write such as 90@580.65.06")

    def _checks(self, node: Node) -> object:
        if isinstance(node, ListNode) and not node.items:
            return self._mistake(node, "an empty list of required checks approves anything", "write at least 'audit'")
        return self._all(node, self._check)

    def _check(self, node: Node) -> object:
        kind, _, where = text(node).partition("@")
        if "@" not in where:
            return text(node)
        try:
            return f"{kind}@{self._policy.parse_target(where).label}"
        except UsageError as error:
            return self._mistake(node, error.message, error.remedy or "write such as smoke@90@580.65.06")
