"""The audit's JSON document, as the contract fixes it (docs/audit.schema.json)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.model.document import document
from pipeline.report.distributions_json import distribution_content, library_content
from pipeline.report.kernels_json import kernels_content
from pipeline.report.rehearsal_json import rehearsal_content

if TYPE_CHECKING:
    from pipeline.audit.report import AuditReport, PassVerdict, TargetReport


def audit_document(report: AuditReport) -> dict[str, Any]:
    """The content of the document, without its head."""
    return {
        "artifacts": [
            {"path": item.path, "sha256": item.sha256, "size": item.size, "format": item.format}
            for item in report.artifacts
        ],
        "verdict": report.verdict.value,
        "deep": report.deep,
        "policy_date": report.policy_date,
        "examined": {
            "members": report.examined.members,
            "elf": report.examined.elf,
            "fatbins": report.examined.fatbins,
            "cubins": report.examined.cubins,
            "ptx": report.examined.ptx,
        },
        "targets": [_target(target) for target in report.targets],
        "outcomes": [outcome.to_json() for outcome in report.outcomes],
        "findings": [finding.to_json() for finding in report.findings],
        "notes": list(report.notes),
        **(
            {"distributions": [distribution_content(item) for item in report.distributions]}
            if report.distributions
            else {}
        ),
        "libraries": [library_content(item) for item in report.libraries],
        **({"kernels": kernels_content(report.kernels)} if report.kernels is not None else {}),
        **({"rehearsal": rehearsal_content(report.rehearsal)} if report.rehearsal is not None else {}),
        **({"serves": report.serves.to_json()} if report.serves is not None else {}),
    }


def audit_json(report: AuditReport) -> str:
    """The whole document as text."""
    return document("audit", audit_document(report))


def _target(report: TargetReport) -> dict[str, Any]:
    fatbins = report.fatbins
    return {
        "sm": str(report.target.sm),
        "driver": str(report.target.driver),
        "gpu": report.target.gpu,
        "verdict": report.verdict.value,
        "errors": list(report.errors),
        "causes": list(report.causes),
        "fatbins": {
            "total": fatbins.total,
            "native": fatbins.native,
            "jit": fatbins.jit,
            "by_design": fatbins.by_design,
            "unloadable": fatbins.unloadable,
        },
        "jit_forbidden": _pass(report.jit_forbidden),
        "jit_forced": _pass(report.jit_forced),
        "minimum_driver": report.floor.driver or None,
        "minimum_driver_reason": report.floor.reason,
    }


def _pass(verdict: PassVerdict) -> dict[str, Any]:
    return {"verdict": verdict.verdict.value, "errors": list(verdict.errors)}
