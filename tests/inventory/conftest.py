"""The engine of this machine and a small base image on it."""

from __future__ import annotations

from tests.engine.conftest import base, engine

__all__ = ["base", "engine"]
