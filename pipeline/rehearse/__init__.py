"""PTX that a driver would compile at a user's, compiled now by the assembler that comes nearest to that driver."""

from __future__ import annotations

from pipeline.rehearse.rehearse import RehearseSettings, rehearse

__all__ = ["RehearseSettings", "rehearse"]
