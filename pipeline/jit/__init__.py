"""Kernel sources that a product compiles on its users' machines, compiled here for every promised GPU, without one."""

from __future__ import annotations

from pipeline.jit.report import JitReport
from pipeline.jit.run import JitSettings, compile_lane

__all__ = ["JitReport", "JitSettings", "compile_lane"]
