"""The world's facts as data: driver branches, toolkits, architectures, codecs, libcuda entry points, errors."""

from __future__ import annotations

from pipeline.policy.load import load_policy
from pipeline.policy.policy import Policy

__all__ = ["Policy", "load_policy"]
