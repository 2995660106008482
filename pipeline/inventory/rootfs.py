"""The file system of an image, put together from its layers: only what is there at the end is noted."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.formats.facts import Damage
from pipeline.inventory.overlay import Leaf, Overlay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.inventory.layer import Layer
    from pipeline.inventory.ledger import Ledger
    from pipeline.model.paths import MemberPath

_APPLIED_PER_FILE = 6
"""How many members may be put together for each file that an artifact may have: an image may repeat a layer."""


@dataclass(slots=True)
class Rootfs:
    """The layers of one image with their names, the lowest first."""

    layers: list[tuple[str, Layer]] = field(default_factory=list)


@dataclass(slots=True)
class _Kept:
    """A layer, and under which paths each of its contents is there at the end of at least one image."""

    layer: Layer
    names: dict[str, MemberPath] = field(default_factory=dict)


def assemble(images: Iterable[Rootfs], path: MemberPath, ledger: Ledger) -> None:
    """Note the effective files of all images below ``path``, those that several share once."""
    kept: dict[str, _Kept] = {}
    for image in images:
        for name, layer in image.layers:
            kept.setdefault(name, _Kept(layer))
        _keep(image, path, kept, ledger)
    for name, each in kept.items():
        _take_over(each, path.child(name), ledger)


def _keep(image: Rootfs, path: MemberPath, kept: dict[str, _Kept], ledger: Ledger) -> None:
    """Find out what is there at the end; further names of the same content are links."""
    overlay = _overlay(image, path, ledger)
    first: dict[tuple[int, str], str] = {}
    for name, leaf in sorted(overlay.leaves(), key=lambda item: _rank(*item)):
        layer = image.layers[leaf.layer][0]
        if leaf.origin in first:
            target = posixpath.relpath(first[leaf.origin], posixpath.dirname(name) or ".")
            ledger.link(path.child(layer).child(name), target)
            continue
        first[leaf.origin] = name
        origin, key = leaf.origin
        kept[image.layers[origin][0]].names.setdefault(key, path.child(layer).child(name))


def _rank(name: str, leaf: Leaf) -> tuple[bool, str]:
    """The name that content was stored under first, where it is still there."""
    return leaf.origin != (leaf.layer, name), name


def _overlay(image: Rootfs, path: MemberPath, ledger: Ledger) -> Overlay:
    overlay, applied = Overlay(ledger.budgets.members), 0
    for index, (name, layer) in enumerate(image.layers):
        applied += layer.members
        if applied > _APPLIED_PER_FILE * ledger.budgets.members:
            ledger.damage(path.child(name), "layers repeated so often that they are not put together")
            break
        for inner, what in overlay.apply(index, layer.changes):
            ledger.damage(path.child(name).child(inner), what)
    return overlay


def _take_over(kept: _Kept, place: MemberPath, ledger: Ledger) -> None:
    """Move the facts of what is there to their final paths; damage of the layer itself always counts."""
    layer = kept.layer
    depth = len(layer.place.parts)

    def moved(path: MemberPath) -> MemberPath | None:
        key = layer.key_of(path)
        name = kept.names.get(key) if key else place
        return None if name is None else type(path)((*name.parts, *path.parts[depth + 1 :]))

    limit = ledger.budgets.damage
    if len(layer.ledger.damages) > limit:  # the last one stands for others, which may be of files that are there
        layer.ledger.damages[limit] = Damage(layer.place, layer.ledger.damages[limit].what)
    ledger.absorb_moved(layer.ledger, moved)
