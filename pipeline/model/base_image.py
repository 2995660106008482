"""The image that a lane builds and serves in, and that a runtime image is on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Debootstrap:
    """How to make a base image where none can be pulled: a Debian suite bootstrapped with these packages."""

    suite: str
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaseImage:
    """The image a lane builds (and serves) in. ``digest`` pins it; ``fallback`` makes a stand-in locally."""

    name: str
    reference: str
    digest: str | None = None
    fallback: Debootstrap | None = None
