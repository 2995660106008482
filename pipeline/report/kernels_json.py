"""The kernel table for programs, as audit and show have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.audit.kernels import KernelGroup, KernelReport


def kernels_content(report: KernelReport) -> dict[str, Any]:
    """Groups, and for each target those of which its images lack kernels."""
    return {"groups": groups_content(report.groups), "missing": {label: list(names) for label, names in report.missing}}


def groups_content(groups: Iterable[KernelGroup]) -> list[dict[str, Any]]:
    """One object for each group of a library."""
    return [
        {
            "library": str(group.library),
            "group": group.name,
            "kernels": group.kernels,
            "archs": dict(group.archs),
            "registers": group.registers,
            "static_shared": group.static_shared,
        }
        for group in groups
    ]
