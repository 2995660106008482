"""What serving needs of an engine, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Launch:
    """A server to start: ``bundle`` is the unpacked folder, ``model`` the GGUF, both seen read-only.

    ``command`` has ``{bundle}``, ``{model}``, ``{host}`` and ``{port}`` for the engine to fill in: inside a container
    they differ from outside. ``image`` is the container image (ignored by the process engine), ``gpus`` the UUIDs of
    the GPUs that the server may see, ``lane`` what its container is labelled with.
    """

    command: tuple[str, ...]
    bundle: Path
    model: Path
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    image: str | None = None
    gpus: tuple[str, ...] = ()
    lane: str = ""


class Server(Protocol):
    """A started server. ``stop`` is called exactly once and proves that nothing is left."""

    @property
    def base_url(self) -> str:
        """``http://HOST:PORT`` as seen from this process."""
        ...

    def exit_status(self) -> int | None:
        """The exit status (negative: a signal, as in ``subprocess``), ``None`` while it runs."""
        ...

    def processes(self) -> tuple[int, ...]:
        """The ids of its processes as this machine counts them, which is how a driver names who uses a GPU."""
        ...

    def log_tail(self, lines: int = 40) -> str:
        """The end of what the server printed."""
        ...

    def stop(self, timeout: float) -> tuple[str, ...]:
        """End the server within ``timeout`` seconds; return a description of every process still left."""
        ...


class ServingEngine(Protocol):
    """Something that can start a server."""

    @property
    def name(self) -> str:
        """``process`` or ``docker``."""
        ...

    def start(self, launch: Launch) -> Server:
        """Start; ``InfrastructureError`` when the engine cannot (the product is then not judged)."""
        ...
