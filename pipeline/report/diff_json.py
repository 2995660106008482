"""The comparison of two artifacts for programs (docs/diff.schema.json)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.model.document import document
from pipeline.report.kernels_json import groups_content

if TYPE_CHECKING:
    from pipeline.audit.report import AuditedArtifact, Floor
    from pipeline.diff import Difference


def diff_document(found: Difference) -> dict[str, Any]:
    """The content of the document, without its head."""
    return {
        "old": _artifact(found.old),
        "new": _artifact(found.new),
        "verdict": found.verdict.value,
        "outcomes": [outcome.to_json() for outcome in found.outcomes],
        "findings": [finding.to_json() for finding in found.findings],
        "floors": [{"sm": str(pair.sm), "old": _floor(pair.old), "new": _floor(pair.new)} for pair in found.floors],
        "sizes": [{"path": pair.path, "old": pair.old, "new": pair.new} for pair in found.sizes],
        **({"kernels": {"groups": groups_content(found.kernels)}} if found.kernels else {}),
    }


def diff_json(found: Difference) -> str:
    """The whole document as text."""
    return document("diff", diff_document(found))


def _artifact(item: AuditedArtifact) -> dict[str, Any]:
    return {"path": item.path, "sha256": item.sha256, "size": item.size, "format": item.format}


def _floor(floor: Floor) -> dict[str, Any]:
    return {"minimum_driver": floor.driver or None, "minimum_driver_reason": floor.reason}
