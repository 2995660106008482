"""How this machine builds: what a lane does not say and the result does not depend on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.resources import Resources


@dataclass(frozen=True, slots=True)
class Network:
    """How packages and files are reached. ``index_url`` is ``None`` for the clients' own default registry.

    ``ca_bundle`` is a file of trusted certificates for a network whose TLS is intercepted; it is used during fetches
    and builds and is in no result. ``proxies`` are environment variables such as ``HTTPS_PROXY``. Seconds.
    """

    index_url: str | None = None
    ca_bundle: Path | None = None
    proxies: dict[str, str] = field(default_factory=dict)
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """``source_date_epoch`` is the time (Unix seconds) that packed files bear; ``jobs`` 0 means every processor."""

    resources: Resources
    network: Network
    source_date_epoch: int
    jobs: int = 0
