"""One approved bundle as what a registry keeps of it: an artifact, a runtime image, and the tags of its version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pipeline.publishers import oci_notes
from pipeline.publishers.oci import Blob, Packed, Start, artifact, image
from pipeline.publishers.oci_layer import bundle_layer
from pipeline.publishers.oci_tags import version_tags

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.gate import Approved
    from pipeline.model.lane import ImageTerms, Lane
    from pipeline.policy import Policy
    from pipeline.publishers.oci import Base

_BUNDLE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Release:
    """What is pushed of one lane."""

    lane: str
    image: Packed
    versions: dict[str, Packed]


def packed_release(
    item: Approved, bundle: Path, base: Base, terms: ImageTerms, *, policy: Policy, scratch: Path
) -> Release:
    """Make the documents; ``bundle`` is the copy that is sent, ``scratch`` an empty folder."""
    lane = item.verdict.lane
    made = bundle_layer(bundle, item.artifact.sha256, f"{lane.bundle.name}-{lane.bundle.version}", scratch)
    floor = oci_notes.floor_of(item, policy)
    notes = oci_notes.notes(item, terms, floor, made.created)
    start = Start(made.folder, _entrypoint(lane, made.folder), oci_notes.environment(item, floor), oci_notes.DROPPED)
    runtime = image(base, made.layer, start, {**notes, **oci_notes.base_notes(terms.base)}, made.created)
    sent = Blob(_BUNDLE, f"sha256:{item.artifact.sha256}", item.artifact.size, bundle)
    own = artifact(sent, item.artifact.path.name, notes)
    image_tag, artifact_tag = version_tags(lane)
    return Release(lane.id, runtime, {image_tag: runtime, artifact_tag: own})


def our_lane(manifest: bytes) -> str | None:
    """The lane of a manifest that we pushed; ``None`` for anything else."""
    try:
        lane = json.loads(manifest)["annotations"][oci_notes.LANE]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return lane if isinstance(lane, str) else None


def _entrypoint(lane: Lane, folder: str) -> tuple[str, ...]:
    """The program that the smoke starts, where it is one of the bundle's own files."""
    program = lane.smoke.command[0] if lane.smoke.command else ""
    inside = PurePosixPath(program.removeprefix("{bundle}/").removeprefix("./"))
    if not inside.parts or inside.is_absolute() or ".." in inside.parts or "{" in program.removeprefix("{bundle}/"):
        return ()
    return (f"{folder}/{inside}",)
