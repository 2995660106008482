"""The image that a lane builds in: found on this engine, pulled, or bootstrapped from Debian packages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from docker.errors import APIError, ImageNotFound, NotFound

from pipeline.engine.debootstrap import bootstrap, local_tag
from pipeline.engine.failures import engine_errors, reason_of
from pipeline.engine.labels import LOCAL_REPOSITORY, ORIGIN, STAND_IN
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker import DockerClient
    from docker.models.images import Image

    from pipeline.model.lane import BaseImage


class ImageOrigin(StrEnum):
    """Where a base image came from, as ``bundle.json`` and evidence say it.

    ``PULLED`` has a registry's digest, ``LOCAL`` was made on this machine by someone else, ``STAND_IN`` only bears the
    real one's name.
    """

    PULLED = "pulled"
    LOCAL = "local"
    DEBOOTSTRAP = "debootstrap"
    STAND_IN = "stand-in"


@dataclass(frozen=True, slots=True)
class ReadyImage:
    """A base image on this engine. ``reference`` is what FROM says, ``identity`` the engine's image id.

    ``digest`` is the registry's manifest digest where there is one, the image id otherwise.
    """

    reference: str
    identity: str
    digest: str
    origin: ImageOrigin


def ensure_base_image(client: DockerClient, base: BaseImage, progress: Callable[[str], None]) -> ReadyImage:
    """Return ``base`` ready to use: present, else an earlier stand-in, else pulled, else bootstrapped.

    ``InfrastructureError`` when none of these works, saying what was tried. An earlier stand-in goes before pulling so
    that a machine without a registry does not wait for it in every run; ``cubingate clean`` removes it.
    """
    wanted = f"{base.reference}@{base.digest}" if base.digest else base.reference
    found = _present(client, wanted)
    if found is not None:
        return _ready(found, wanted)
    if base.fallback is not None:
        substitute = _present(client, local_tag(base.fallback))
        if substitute is not None:
            return _ready(substitute, local_tag(base.fallback))
    failure = _pull(client, wanted, progress)
    if failure is None:
        return _ready(_must_be_present(client, wanted), wanted)
    if base.fallback is None:
        raise InfrastructureError(
            f"base image {wanted} is not on this engine and cannot be pulled: {failure}",
            remedy="check the name and the network, or give it a `debootstrap` fallback in matrix.yaml",
        )
    progress(f"{wanted} cannot be pulled ({failure}); bootstrapping {base.fallback.suite} instead")
    tag = bootstrap(client, base.fallback, progress)
    return _ready(_must_be_present(client, tag), tag)


def _present(client: DockerClient, reference: str) -> Image | None:
    with engine_errors(f"looking for the image {reference}"):
        try:
            return client.images.get(reference)
        except ImageNotFound:
            return None


def _must_be_present(client: DockerClient, reference: str) -> Image:
    found = _present(client, reference)
    if found is None:
        raise InfrastructureError(f"the engine lost the image {reference} right after it got it")
    return found


def _pull(client: DockerClient, reference: str, progress: Callable[[str], None]) -> str | None:
    """Pull; the reason why not, ``None`` when it worked."""
    progress(f"pulling {reference}")
    failure = None
    with engine_errors(f"pulling {reference}"):
        try:
            # To the end even after an error: only a stream that was read up gives its connection back.
            for message in client.api.pull(reference, stream=True, decode=True):
                if "error" in message:
                    failure = " ".join(str(message["error"]).split())
                elif "progress" not in message:
                    progress(" ".join(filter(None, (message.get("id"), message.get("status")))))
        except (APIError, NotFound) as error:
            failure = reason_of(error)
    return failure


def _ready(image: Image, reference: str) -> ReadyImage:
    identity = str(image.id)
    labels = image.labels or {}
    repository = reference.partition("@")[0].rpartition(":")[0] or reference
    registry_digest = _registry_digest(image, repository)
    if labels.get(STAND_IN) == "true":
        origin = ImageOrigin.STAND_IN
    elif labels.get(ORIGIN) == ImageOrigin.DEBOOTSTRAP or reference.startswith(f"{LOCAL_REPOSITORY}/"):
        origin = ImageOrigin.DEBOOTSTRAP
    else:
        origin = ImageOrigin.PULLED if registry_digest else ImageOrigin.LOCAL
    return ReadyImage(reference, identity, registry_digest or identity, origin)


def _registry_digest(image: Image, repository: str) -> str | None:
    for entry in image.attrs.get("RepoDigests") or ():
        name, _, digest = str(entry).partition("@")
        if digest and (name == repository or len(image.attrs["RepoDigests"]) == 1):
            return digest
    return None
