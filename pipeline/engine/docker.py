"""The Docker engine of this machine, through its SDK: images, builds, files out of images, servers."""

from __future__ import annotations

import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import docker
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import RequestException

from pipeline.engine.base_image import ReadyImage, ensure_base_image
from pipeline.engine.buildkit import BuildRequest, run_build
from pipeline.engine.container import start_container
from pipeline.engine.failures import engine_errors, reason_of
from pipeline.engine.labels import BUILD_REPOSITORY, COMPILER_CACHE, LANE, LOCAL_REPOSITORY
from pipeline.errors import EngineUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from docker import DockerClient

    from pipeline.engine.interface import Launch, Server
    from pipeline.model.lane import BaseImage

_REMEDY = (
    "start one (Debian and Ubuntu: `apt-get install docker.io`, then `service docker start`), set DOCKER_HOST, or be a "
    "member of the group `docker`"
)

_CACHE_MOUNT = f"cached mount {COMPILER_CACHE} "
"""How BuildKit describes the compiler cache among its records."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What the engine says about itself; ``root`` is where it keeps images, on its own machine."""

    version: str
    api: str
    storage: str
    root: Path
    platform: str


class DockerEngine:
    """A connection to one engine; close it (or use ``with``) when done."""

    def __init__(self, client: DockerClient) -> None:
        self._client = client

    @classmethod
    def connect(cls, *, timeout: float = 60.0) -> Self:
        """Connect as Docker's client would (``DOCKER_HOST``, TLS); ``EngineUnavailable`` when none answers."""
        try:
            client = docker.from_env(timeout=int(timeout))
            client.ping()
        except (DockerException, RequestException, OSError) as error:
            raise EngineUnavailable(f"no container engine answers: {reason_of(error)}", remedy=_REMEDY) from error
        return cls(client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @property
    def name(self) -> str:
        """``docker``, as evidence names it."""
        return "docker"

    @property
    def client(self) -> DockerClient:
        """The SDK's client, for tests and for what this class has no words for."""
        return self._client

    def facts(self) -> EngineFacts:
        """What the engine says about itself; ``InfrastructureError`` when it goes away."""
        with engine_errors("telling about itself"):
            told = self._client.info()
            version = self._client.version()
        return EngineFacts(
            version=str(told["ServerVersion"]),
            api=str(version["ApiVersion"]),
            storage=str(told["Driver"]),
            root=Path(told["DockerRootDir"]),
            platform=str(told["Architecture"]),
        )

    def ensure(self, base: BaseImage, progress: Callable[[str], None]) -> ReadyImage:
        """The base image, ready to use; ``InfrastructureError`` when it cannot be had."""
        return ensure_base_image(self._client, base, progress)

    def build(self, request: BuildRequest, progress: Callable[[str], None]) -> None:
        """Build and tag an image; ``BuildStepFailed`` or another ``InfrastructureError``."""
        run_build(self._client.api, request, progress)

    def copy_out(self, image: str, path: str, destination: Path, *, lane: str) -> None:
        """Copy the folder ``path`` of ``image`` to ``destination``, which must not exist.

        Through a container that is created and never started, so nothing of the image runs.
        """
        with engine_errors(f"copying {path} out of {image}"):
            container = self._client.containers.create(image, command=["/never"], labels={LANE: lane})
            try:
                stream, _ = container.get_archive(path)
                with tempfile.TemporaryFile() as spool:
                    for piece in stream:
                        spool.write(piece)
                    spool.seek(0)
                    _unpack(spool, destination)
            finally:
                container.remove(force=True, v=True)

    def start(self, launch: Launch) -> Server:
        """Start a bundle's server in a container; ``InfrastructureError`` when the engine cannot."""
        return start_container(self._client, launch)

    def remove_image(self, reference: str) -> None:
        """Remove one name of an image; what BuildKit keeps for the next build stays. No error when absent."""
        with engine_errors(f"removing the image {reference}"), suppress(ImageNotFound):
            self._client.images.remove(reference, noprune=False)

    def remove_everything(self, *, lane: str | None = None) -> tuple[str, ...]:
        """Remove the containers, networks and images that this tool made; what was removed, by name.

        Only those of one ``lane`` when it is given.
        """
        with engine_errors("removing what this tool made"):
            return tuple(_remove_ours(self._client, f"{LANE}={lane}" if lane else LANE))

    def remove_compiler_cache(self) -> tuple[str, ...]:
        """Remove the compiler cache that all builds share; what was removed, by name."""
        with engine_errors("removing the compiler cache"):
            records = self._client.api.df().get("BuildCache") or ()
            mounts = [record for record in records if str(record.get("Description")).startswith(_CACHE_MOUNT)]
            for record in mounts:
                self._client.api.prune_builds(filters={"id": record["ID"]}, all=True)  # type: ignore[arg-type]
        return tuple(f"compiler cache {record['ID']} ({record['Size'] >> 20} MiB)" for record in mounts)


def _unpack(stream: IO[bytes], destination: Path) -> None:
    """The engine's tar has one top folder: its content becomes ``destination``."""
    with tempfile.TemporaryDirectory(prefix=".copy-", dir=destination.parent) as scratch:
        with tarfile.open(fileobj=stream, mode="r:") as tar:
            tar.extractall(scratch, filter="data")
        (top,) = Path(scratch).iterdir()
        top.rename(destination)


def _remove_ours(client: DockerClient, label: str) -> Iterator[str]:
    for container in client.containers.list(all=True, filters={"label": label}):
        container.remove(force=True, v=True)
        yield f"container {container.name}"
    for network in client.networks.list(filters={"label": label}):
        network.remove()
        yield f"network {network.name}"
    for image in client.images.list(filters={"label": label} if label != LANE else None):
        if is_our_image(image.tags, image.labels or {}):
            client.images.remove(str(image.id), force=True)
            yield f"image {', '.join(image.tags) or image.short_id}"


def is_our_image(names: Sequence[str], labels: Mapping[str, str]) -> bool:
    """Whether we made an image: by its names, since labels are inherited by what others build from ours."""
    ours = (f"{LOCAL_REPOSITORY}/", f"{BUILD_REPOSITORY}:")
    return all(name.startswith(ours) for name in names) if names else LANE in labels
