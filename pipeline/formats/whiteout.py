"""Names in image layers that delete what lower layers hold.

``DIR/.wh.NAME`` hides ``DIR/NAME``, ``DIR/.wh..wh..opq`` everything that lower layers have in ``DIR``; other names that
begin with ``.wh..wh.`` are AUFS's own bookkeeping. Source: OCI image-spec 1.1, layer; moby pkg/archive/whiteouts.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from pipeline.binary import FormatError

_MARK = ".wh."
_BOOKKEEPING = ".wh..wh."
_OPAQUE = ".wh..wh..opq"


class NameKind(Enum):
    """What a name in a layer stands for."""

    MEMBER = auto()
    WHITEOUT = auto()
    OPAQUE = auto()
    BOOKKEEPING = auto()


@dataclass(frozen=True, slots=True)
class LayerName:
    """A name and what it is about: the member itself, what a whiteout hides, or the folder made opaque."""

    kind: NameKind
    path: str


def layer_name(name: str) -> LayerName:
    """Classify a clean relative name; ``FormatError`` for a whiteout that no tool writes."""
    if _MARK not in name:
        return LayerName(NameKind.MEMBER, name)
    folder, _, base = name.rpartition("/")
    above = [part for part in folder.split("/") if part.startswith(_MARK)]
    if above and not above[0].startswith(_BOOKKEEPING):
        raise FormatError("a member inside a whiteout")
    if above or (base.startswith(_BOOKKEEPING) and base != _OPAQUE):
        return LayerName(NameKind.BOOKKEEPING, name)
    if base == _OPAQUE:
        return LayerName(NameKind.OPAQUE, folder)
    if not base.startswith(_MARK):
        return LayerName(NameKind.MEMBER, name)
    hidden = base.removeprefix(_MARK)
    if hidden in {"", ".", ".."}:
        raise FormatError("a whiteout of a folder from inside it")
    return LayerName(NameKind.WHITEOUT, f"{folder}/{hidden}" if folder else hidden)
