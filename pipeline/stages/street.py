"""What a run works with: where state lies, who listens, the clock, and engines that connect when first needed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import EngineUnavailable
from pipeline.evidence import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from pipeline.build.settings import BuildSettings
    from pipeline.engine.docker import DockerEngine
    from pipeline.engine.process import ProcessEngine
    from pipeline.evidence.envelope import SigningKey
    from pipeline.machine import InstalledGpu
    from pipeline.model.evidence import Origin
    from pipeline.report.progress import Talk


class Engines:
    """The engines of this machine; the container engine is asked for once, and its absence remembered."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._container: DockerEngine | None = None
        self._unavailable: EngineUnavailable | None = None

    def process(self) -> ProcessEngine:
        """The plain process engine."""
        from pipeline.engine.process import ProcessEngine

        return ProcessEngine(self._environment)

    def container(self) -> DockerEngine:
        """The container engine; ``EngineUnavailable`` when none answers."""
        if self._unavailable is not None:
            raise self._unavailable
        if self._container is None:
            from pipeline.engine.docker import DockerEngine

            try:
                self._container = DockerEngine.connect()
            except EngineUnavailable as error:
                self._unavailable = error
                raise
        return self._container

    def close(self) -> None:
        """Close what was opened."""
        if self._container is not None:
            self._container.close()
            self._container = None


@dataclass(frozen=True, slots=True)
class Street:
    """Everything a stage may use besides the lane.

    ``evidence`` is where records are written and first read, ``origin`` what they say they come from, ``signing``
    the key that signs them; ``retries`` are the seconds to ``pause`` before each further look where the machine failed
    a check.
    """

    state: Path
    evidence: Path
    talk: Talk
    clock: Callable[[], datetime]
    environment: Mapping[str, str]
    engines: Engines
    build: BuildSettings
    gpus: Callable[[], tuple[InstalledGpu, ...]]
    origin: Origin
    signing: SigningKey | None = None
    retries: tuple[float, ...] = ()
    pause: Callable[[float], None] = time.sleep

    def now(self) -> str:
        """UTC, ISO 8601, microseconds, as records have it."""
        return iso(self.clock())

    def lane_folder(self, lane_id: str) -> Path:
        """Where a lane's bundle, record and logs are kept; it need not be there."""
        return self.state / "lanes" / lane_id
