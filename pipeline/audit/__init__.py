"""Judge device code and host files against targets: facts in, verdicts out."""

from __future__ import annotations

from pipeline.audit.judge import audit_artifacts
from pipeline.audit.report import AuditReport
from pipeline.audit.run import run_audit

__all__ = ["AuditReport", "audit_artifacts", "run_audit"]
