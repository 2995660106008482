"""The named parts of a matrix file (sources, base images, recipes …) as values of the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pipeline.errors import UsageError
from pipeline.matrix import sections
from pipeline.matrix.jit import JIT_SOURCE, NoJitSource, read_jit_source
from pipeline.matrix.mistakes import Mistake, closest
from pipeline.matrix.nodes import ListNode, MapNode, Node, ScalarNode
from pipeline.matrix.presets import with_preset
from pipeline.model.lane import (
    READINESS,
    BaseImage,
    BuildRecipe,
    BundleSpec,
    Debootstrap,
    GitSource,
    PathSource,
    PrebuiltFile,
    PrebuiltUrl,
    PrebuiltWheel,
    Proof,
    SdistSource,
    ServedModel,
    SmokeBudgets,
    SmokeSettings,
    Source,
    Target,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.matrix.kinds import Kind
    from pipeline.model.jit import JitSource
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy

T = TypeVar("T")

_DRIVER = "write a driver version such as 535.288.01"

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_PLACEHOLDERS = ("bundle", "model", "host", "port", "python", "launchers", "device")


class Misread(Exception):
    """A value that the schema accepts and that still means nothing."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


@dataclass(frozen=True, slots=True)
class Section(Generic[T]):
    """One section by name. ``names`` are all that the file has, ``values`` those without mistakes."""

    title: str
    names: tuple[str, ...]
    values: dict[str, T]

    def unknown(self, name: ScalarNode) -> Mistake:
        """The mistake of naming something that the section does not have."""
        instead = closest(name.text, self.names) if self.names else f"add a section {self.title!r} with it"
        return Mistake(name.position, f"{name.text!r} is not in {self.title!r}", instead)


@dataclass(frozen=True, slots=True)
class Definitions:
    """Everything that lanes refer to by name."""

    sources: Section[Source]
    base_images: Section[BaseImage]
    recipes: Section[BuildRecipe]
    smoke: Section[SmokeSettings]
    targets: Section[Target]
    jit_sources: Section[JitSource]


def text(node: Node) -> str:
    """The text of a node that was checked to be one; ``TypeError`` when it was not."""
    if isinstance(node, ScalarNode) and isinstance(node.value, str):
        return node.value
    raise TypeError(f"{node.position}: not checked to be text")


def words(node: Node) -> tuple[str, ...]:
    """The items of a node that was checked to be a list of text."""
    if isinstance(node, ListNode):
        return tuple(text(item) for item in node.items)
    raise TypeError(f"{node.position}: not checked to be a list")


def table(node: Node) -> dict[str, str]:
    """The entries of a node that was checked to map names to text."""
    if isinstance(node, MapNode):
        return {entry.key: text(entry.value) for entry in node.entries}
    raise TypeError(f"{node.position}: not checked to be a mapping")


def mapping(node: Node) -> dict[str, Node]:
    """The values of a mapping by key; empty where ``node`` is none (which the schema has reported)."""
    return {entry.key: entry.value for entry in node.entries} if isinstance(node, MapNode) else {}


def sound(kind: Kind, node: Node) -> bool:
    """Whether ``node`` has no mistake that the schema reports."""
    return next(kind.check(node), None) is None


def driver_version(written: str, policy: Policy) -> DriverVersion:
    """A driver version; a bare branch is that branch's first toolkit driver. ``UsageError``."""
    return policy.parse_target(f"90@{written}").driver


def read_definitions(root: MapNode, folder: Path, policy: Policy, mistakes: list[Mistake]) -> Definitions:
    """Read every section; paths are relative to ``folder``. What the schema cannot say goes to ``mistakes``."""
    parts = mapping(root)

    def section(title: str, kind: Kind, read: Callable[[str, dict[str, Node]], T]) -> Section[T]:
        entries = mapping(parts[title]) if title in parts else {}
        values: dict[str, T] = {}
        for name, node in entries.items():
            if sound(kind, node):
                try:
                    values[name] = read(name, mapping(node))
                except (Misread, NoJitSource) as error:
                    mistakes.append(error.mistake)
        return Section(title, tuple(entries), values)

    if "smoke" in parts:
        mistakes += _smoke_mistakes(parts["smoke"])
    sources = section("sources", sections.SOURCE, lambda _, node: _source(node, folder))
    return Definitions(
        sources=sources,
        base_images=section("base_images", sections.BASE_IMAGE, _base_image),
        recipes=section("recipes", sections.RECIPE, lambda _, node: _recipe(node)),
        smoke=section("smoke", sections.SMOKE, lambda _, node: _smoke(with_preset(node))),
        targets=section("targets", sections.TARGET_DEFINITION, lambda _, node: _target(node, policy)),
        jit_sources=section(
            "jit_sources", JIT_SOURCE, lambda name, node: read_jit_source(name, node, folder, sources.values)
        ),
    )


def read_bundle(node: Node) -> BundleSpec:
    """The name and version of what is released."""
    parts = mapping(node)
    return BundleSpec(text(parts["name"]), text(parts["version"]))


def _source(parts: dict[str, Node], folder: Path) -> Source:
    words = {key: text(node) for key, node in parts.items()}
    match words:
        case {"git": url}:
            return GitSource(url, words["ref"], words["commit"])
        case {"path": path}:
            return PathSource(folder / path, words.get("sha256"))
        case {"sdist": project}:
            return SdistSource(project, words["version"], words["sha256"], words.get("subdirectory", "."))
        case {"file": path}:
            return PrebuiltFile(folder / path, words["sha256"])
        case {"url": url}:
            return PrebuiltUrl(url, words["sha256"])
        case {"wheel": project}:
            return PrebuiltWheel(project, words["version"], words["filename"], words["sha256"])
        case _:
            raise TypeError(f"a source of no known shape: {sorted(words)}")


def _base_image(name: str, parts: dict[str, Node]) -> BaseImage:
    digest = text(parts["digest"]) if "digest" in parts else None
    return BaseImage(name, text(parts["reference"]), digest, _fallback(parts))


def _fallback(parts: dict[str, Node]) -> Debootstrap | None:
    if "fallback" not in parts:
        return None
    fallback = mapping(parts["fallback"])
    return Debootstrap(text(fallback["debootstrap"]), _words(fallback, "include"))


def _recipe(parts: dict[str, Node]) -> BuildRecipe:
    return BuildRecipe(
        dockerfile=text(parts["dockerfile"]),
        cmake_target=text(parts["cmake_target"]),
        defines=table(parts["defines"]) if "defines" in parts else {},
        install=table(parts["install"]),
        ship=_words(parts, "ship"),
        packages=_words(parts, "packages"),
    )


def _smoke(parts: dict[str, Node]) -> SmokeSettings:
    if "command" not in parts:
        where = next(iter(parts.values())).position
        raise Misread(Mistake(where, "neither 'command' nor 'preset' starts a server", "add preset: llama-server"))
    budgets = mapping(parts["budgets"]) if "budgets" in parts else {}
    arguments = mapping(parts["device_arguments"]) if "device_arguments" in parts else {}
    times = {key: _number(node) for key, node in parts.items() if key.endswith("_timeout")}
    return SmokeSettings(
        command=words(parts["command"]),
        device_arguments={device: words(node) for device, node in arguments.items()},
        environment=table(parts["environment"]) if "environment" in parts else {},
        contain=_flag(parts, "contain", default=False),
        readiness=_words(parts, "readiness") or READINESS,
        model=_model(mapping(parts["model"])) if "model" in parts else ServedModel(),
        models=_words(parts, "models") or ("tiny",),
        log_probabilities=_flag(parts, "log_probabilities", default=True),
        budgets=SmokeBudgets(**{key: _number(node) for key, node in budgets.items()}),
        **times,
    )


def _model(parts: dict[str, Node]) -> ServedModel:
    return ServedModel(text(parts["url"]), text(parts["sha256"]), text(parts["expected_token"]))


def _target(parts: dict[str, Node], policy: Policy) -> Target:
    try:
        driver = driver_version(text(parts["driver"]), policy)
    except UsageError as error:
        raise Misread(Mistake(parts["driver"].position, error.message, error.remedy or _DRIVER)) from None
    return Target(
        sm=int(_number(parts["sm"])),
        driver=driver,
        gpu=text(parts["gpu"]) if "gpu" in parts else None,
        suffices=_suffices(parts),
        runner=_words(parts, "runner"),
    )


def _suffices(parts: dict[str, Node]) -> Proof:
    if "suffices" not in parts:
        return Proof.PROVEN if _flag(parts, "required", default=True) else Proof.INFERRED
    if "required" in parts:
        where = parts["required"].position
        raise Misread(Mistake(where, "'required' and 'suffices' say the same thing twice", "keep 'suffices'"))
    return Proof(text(parts["suffices"]))


def _smoke_mistakes(section: Node) -> Iterator[Mistake]:
    for node in mapping(section).values():
        if not sound(sections.SMOKE, node):
            continue
        parts = with_preset(mapping(node))
        if "command" not in parts:
            continue
        command = parts["command"]
        found = {name for word in words(command) for name in _PLACEHOLDER.findall(word)}
        for name in sorted(found.difference(_PLACEHOLDERS)):
            yield Mistake(command.position, f"{{{name}}} is filled in by nothing", closest(name, _PLACEHOLDERS))
        for name in ("model", "port"):
            if name not in found:
                yield Mistake(command.position, f"the command has no {{{name}}}", "hand it to the server")
        if any("{device}" in word and word != "{device}" for word in words(command)):
            yield Mistake(command.position, "{device} stands for several words", "make it a word of its own")
        if "device_arguments" in parts and "device" not in found:
            where = parts["device_arguments"].position
            yield Mistake(where, "the command has no {device}", "add the word '{device}' to the command")


def _words(parts: dict[str, Node], key: str) -> tuple[str, ...]:
    return words(parts[key]) if key in parts else ()


def _flag(parts: dict[str, Node], key: str, *, default: bool) -> bool:
    node = parts.get(key)
    return node.value is True if isinstance(node, ScalarNode) else default


def _number(node: Node) -> float:
    if isinstance(node, ScalarNode) and isinstance(node.value, int | float):
        return float(node.value)
    raise TypeError(f"{node.position}: not checked to be a number")
