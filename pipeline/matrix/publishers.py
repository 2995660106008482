"""Where approved bundles go: the section ``publishers`` as values of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.matrix.definitions import Misread, Section, mapping, sound, text, words
from pipeline.matrix.mistakes import Mistake
from pipeline.matrix.nodes import MapNode, Node, ScalarNode
from pipeline.matrix.publisher_forms import PUBLISHER
from pipeline.model.lane import BaseImage, ImageTerms, Publisher

if TYPE_CHECKING:
    from pathlib import Path


def read_publishers(
    root: MapNode, folder: Path, bases: Section[BaseImage], mistakes: list[Mistake]
) -> tuple[Publisher, ...]:
    """The destinations without mistakes; directories are relative to ``folder``."""
    entry = root.find("publishers")
    found: list[Publisher] = []
    for name, node in (mapping(entry.value) if entry else {}).items():
        if sound(PUBLISHER, node):
            try:
                found.append(_publisher(name, mapping(node), folder, bases))
            except Misread as error:
                mistakes.append(error.mistake)
    return tuple(found)


def _publisher(name: str, parts: dict[str, Node], folder: Path, bases: Section[BaseImage]) -> Publisher:
    partial = _flag(parts, "partial")
    if "repository" in parts:
        return Publisher(name, "github", text(parts["repository"]), partial=partial, tag=text(parts["tag"]))
    if "upload" in parts:
        upload, simple = text(parts["upload"]), text(parts["simple"])
        insecure = _flag(parts, "insecure")
        return Publisher(name, "python-index", upload, partial=partial, simple=simple, insecure=insecure)
    if "image" in parts:
        return Publisher(name, "registry", text(parts["image"]), partial=partial, image=_image_terms(parts, bases))
    return Publisher(name, "directory", str(folder / text(parts["location"])), partial=partial)


def _image_terms(parts: dict[str, Node], bases: Section[BaseImage]) -> ImageTerms:
    said = {key: text(parts[key]) for key in ("lead", "licenses", "source") if key in parts}
    return ImageTerms(
        base=_pinned(parts["base"], bases) if "base" in parts else None,
        tags=words(parts["tags"]) if "tags" in parts else (),
        insecure=_flag(parts, "insecure"),
        **said,
    )


def _pinned(name: Node, bases: Section[BaseImage]) -> BaseImage | None:
    """The base image of that name; ``Misread`` without a digest, for the same release has to give the same image.

    ``None`` where that image itself has a mistake, which is reported there.
    """
    if isinstance(name, ScalarNode) and text(name) not in bases.names:
        raise Misread(bases.unknown(name))
    base = bases.values.get(text(name))
    if base is not None and base.digest is None:
        raise Misread(Mistake(name.position, f"{base.name!r} is not pinned by a digest", "add digest: sha256:… to it"))
    return base


def _flag(parts: dict[str, Node], key: str) -> bool:
    node = parts.get(key)
    return isinstance(node, ScalarNode) and node.value is True
