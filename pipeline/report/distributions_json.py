"""Distributions and libraries in the audit's JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.audit.report import DistributionReport, LibraryReport


def distribution_content(report: DistributionReport) -> dict[str, Any]:
    """One distribution; a verdict of ``null`` is that of one without anything to judge."""
    item = report.distribution
    return {
        "name": item.name,
        "version": item.version or None,
        "path": item.path,
        "environment": item.environment,
        "claimed": item.claimed,
        "toolkits": list(report.toolkits),
        "cuda_major": report.majors[0] if len(report.majors) == 1 else None,
        "cuda_majors": list(report.majors),
        "minimum_driver": {
            str(sm): {"driver": floor.driver or None, "reason": floor.reason} for sm, floor in report.floors.items()
        },
        "verdicts": {row.target: {"verdict": row.verdict.value, "causes": list(row.causes)} for row in report.verdicts},
        "libraries": [library.path for library in report.libraries],
        "pinned_by": list(report.pinned_by),
        "unread": list(item.unread),
        "flaws": list(item.flaws),
    }


def library_content(report: LibraryReport) -> dict[str, Any]:
    """One library with device code: its architectures by how it fares on each target."""
    return {
        "path": report.path,
        "archs": list(report.archs),
        "containers": report.containers,
        "targets": dict(report.fares),
    }
