"""What goes into a bundle, as one digest: while it stays the same, the bundle on disk need not be built again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pipeline.digest import file_sha256
from pipeline.errors import InfrastructureError
from pipeline.model.artifact import Artifact
from pipeline.model.document import SCHEMA_VERSION, document

if TYPE_CHECKING:
    from pathlib import Path

RECORD = "build.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """Everything that can change the result; a fetched bundle has only a name and a digest.

    ``base`` is the image's id on the engine, not its movable name. ``facts`` is what ``bundle.json`` will say.
    """

    asset: str
    source: str
    dockerfile: str = ""
    base: str = ""
    pack_format: int = 0
    source_date_epoch: int = 0
    facts: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of all of them, lower-case hex."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def read_built(folder: Path, lane_id: str, recipe_digest: str) -> Artifact | None:
    """The bundle that ``folder`` holds for this recipe, or ``None``.

    The record alone is not believed: the file must be there and have the recorded digest.
    """
    record = _read(folder / RECORD)
    if record.get("recipe_digest") != recipe_digest:
        return None
    path = folder / str(record.get("file"))
    if path.parent != folder or not path.is_file() or file_sha256(path) != record.get("sha256"):
        return None
    return Artifact(lane_id, path, str(record["sha256"]), path.stat().st_size, recipe_digest)


def last_built(folder: Path, lane_id: str) -> Artifact | None:
    """The bundle of an earlier run, whatever its recipe was: for commands that judge what is there.

    ``None`` when there is none, or its file is not what was recorded.
    """
    recipe = _read(folder / RECORD).get("recipe_digest")
    return read_built(folder, lane_id, str(recipe)) if recipe else None


def stand_in_of(folder: Path) -> str | None:
    """What the recorded bundle was built on that is not the declared base image: evidence must say it.

    ``None`` when the base image was the real one, or the bundle was fetched.
    """
    base = _read(folder / RECORD).get("base_image")
    if not isinstance(base, dict) or base.get("origin") in {"pulled", "local"}:
        return None
    return f"{base.get('origin')} image {base.get('reference')}"


def forget(folder: Path) -> None:
    """Drop the record before building anew: should that fail, yesterday's bundle must not pass for today's."""
    try:
        (folder / RECORD).unlink(missing_ok=True)
    except OSError as error:
        raise InfrastructureError(f"cannot remove {folder / RECORD}: {error.strerror}") from error


def write_built(folder: Path, artifact: Artifact, content: dict[str, Any]) -> None:
    """Record ``artifact``; the last step of a build, so that an interrupted one leaves no record."""
    record = {
        "lane": artifact.lane_id,
        "file": artifact.path.name,
        "sha256": artifact.sha256,
        "size": artifact.size,
        "recipe_digest": artifact.recipe_digest,
        **content,
    }
    part = folder / f".{RECORD}"
    try:
        part.write_text(document("build", record) + "\n", encoding="utf-8")
        part.replace(folder / RECORD)
    except OSError as error:
        raise InfrastructureError(f"cannot write {folder / RECORD}: {error.strerror}") from error


def _read(path: Path) -> dict[str, Any]:
    """The record, or an empty one: an unreadable record means building again."""
    try:
        if not path.is_file():  # a pipe would not end
            return {}
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) and record.get("schema_version") == SCHEMA_VERSION else {}
