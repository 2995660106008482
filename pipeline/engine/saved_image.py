"""An image of the engine as the archive that ``docker save`` makes of it, read while it is sent: nothing runs."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker import DockerClient

_CHUNK = 1 << 20
_REFUSED = (400, 404)
"""How the engine answers a name that is none, and one that it does not know."""


@dataclass(frozen=True, slots=True)
class SavedImage:
    """An image by a name or identifier that the engine knows; it is looked for when it is opened."""

    reference: str

    def __str__(self) -> str:
        return f"docker://{self.reference}"

    @contextmanager
    def opened(self) -> Iterator[Iterator[bytes]]:
        """The archive's bytes; ``UsageError`` when the engine has no such image, ``InfrastructureError`` otherwise."""
        from pipeline.engine.docker import DockerEngine  # the SDK: slow to import

        with DockerEngine.connect() as engine:
            yield self._chunks(engine.client)

    def _chunks(self, client: DockerClient) -> Iterator[bytes]:
        from pipeline.engine.failures import engine_errors

        # By identifier: of a name without a tag the engine would send all tags.
        with (
            engine_errors(f"sending {self}"),
            closing(client.api.get_image(self._identifier(client), _CHUNK)) as chunks,
        ):
            yield from chunks

    def _identifier(self, client: DockerClient) -> str:
        from docker.errors import APIError

        try:
            return str(client.images.get(self.reference).id)
        except APIError as error:
            if error.status_code not in _REFUSED:
                raise
            raise UsageError(
                f"{self}: the engine has no such image", remedy=f"docker pull {self.reference}; nothing is pulled here"
            ) from error
