"""An audit of JIT sources as one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.document import document

if TYPE_CHECKING:
    from pipeline.jit import JitReport


def jit_json(report: JitReport) -> str:
    """The document: an audit's shape, the compilations under ``jit``."""
    return document("audit", report.content())
