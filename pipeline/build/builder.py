"""One lane to one bundle: compiled in a container, or fetched when it was built elsewhere."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from pipeline.build.digest import check_digest
from pipeline.build.recipe import Ingredients, forget, read_built, write_built
from pipeline.build.source import describe, fetch_prebuilt, prebuilt_name
from pipeline.digest import file_sha256
from pipeline.errors import EngineUnavailable, InfrastructureError
from pipeline.model.artifact import Artifact
from pipeline.model.lane import GitSource, PathSource, SdistSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.build.settings import BuildSettings, Network
    from pipeline.engine.docker import DockerEngine
    from pipeline.model.lane import Lane, PrebuiltSource


def build_lane(
    lane: Lane,
    *,
    state: Path,
    engine: DockerEngine | None,
    settings: BuildSettings,
    progress: Callable[[str], None],
) -> Artifact:
    """The bundle of ``lane``, below ``state``; built only when its recipe or its file changed.

    ``EngineUnavailable`` for a source lane without ``engine``; ``Refused`` when its compiler fails or is not the
    declared toolkit; ``CorruptInput`` for a wrong digest; otherwise ``InfrastructureError`` or ``UsageError``. Nothing
    half-made is left, whatever it is that ends the build.
    """
    if not isinstance(lane.source, GitSource | PathSource | SdistSource):
        return _fetch(lane, lane.source, state, settings.network, progress)
    if engine is None:
        raise EngineUnavailable(
            f"{lane.id}: not built: no engine", remedy="start Docker, or select prebuilt lanes with --lane"
        )
    lane_folder(state, lane.id)
    # Only here: prebuilt lanes must not pay for jinja2 and the Docker SDK.
    from pipeline.build.compilation import Compilation

    return Compilation(lane, lane.source, engine, settings, state).artifact(progress)


def lane_folder(state: Path, lane_id: str) -> Path:
    """Where a lane's bundle, record and logs are kept; made when absent."""
    folder = state / "lanes" / lane_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(f"cannot make {folder}: {error.strerror}") from error
    return folder


def _fetch(
    lane: Lane, source: PrebuiltSource, state: Path, network: Network, progress: Callable[[str], None]
) -> Artifact:
    """The exact bytes that were pinned, under their own name."""
    folder = lane_folder(state, lane.id)
    name = prebuilt_name(source)
    recipe = Ingredients(asset=name, source=source.sha256).digest
    earlier = read_built(folder, lane.id, recipe)
    if earlier is not None:
        return earlier
    forget(folder)
    place = folder / name
    _place(fetch_prebuilt(source, state / "cache", network, progress), place)
    check_digest(name, expected=source.sha256, observed=file_sha256(place))
    artifact = Artifact(lane.id, place, source.sha256, place.stat().st_size, recipe)
    write_built(folder, artifact, {"source": describe(source)})
    return artifact


def _place(fetched: Path, place: Path) -> None:
    part = place.with_name(f".{place.name}.part")
    try:
        part.unlink(missing_ok=True)
        try:
            os.link(fetched, part)
        except OSError:  # another file system, or one without links
            shutil.copyfile(fetched, part)
        part.replace(place)
    except OSError as error:
        raise InfrastructureError(f"cannot write {place}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
