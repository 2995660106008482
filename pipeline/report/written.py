"""The formats beside text and JSON, by the names that ``--format`` knows them by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath

    from pipeline.gate import LaneVerdict
    from pipeline.report.told import Told


def written_audit(name: str, told: Told, root: PurePath) -> str:
    """The audit in the format called ``name``; ``root`` is the top of the repository. ``ValueError`` for no format."""
    match name:
        case "sarif":
            from pipeline.report.sarif import sarif

            return sarif(told, root)
        case "junit":
            from pipeline.report.audit_junit import audit_junit

            return audit_junit(told)
        case "markdown":
            from pipeline.report.audit_markdown import audit_markdown

            return audit_markdown(told)
        case "html":
            from pipeline.report.audit_html import audit_html

            return audit_html(told)
        case "annotations":
            from pipeline.report.annotations import audit_annotations

            return audit_annotations(told, root)
        case _:
            raise ValueError(f"{name!r} is no format of an audit")


def written_gate(name: str, verdicts: Sequence[LaneVerdict], root: PurePath) -> str:
    """The gate's verdicts in the format called ``name``; ``ValueError`` for no format."""
    match name:
        case "junit":
            from pipeline.report.gate_junit import gate_junit

            return gate_junit(verdicts)
        case "markdown":
            from pipeline.report.gate_markdown import gate_markdown

            return gate_markdown(verdicts)
        case "html":
            from pipeline.report.gate_html import gate_html

            return gate_html(verdicts)
        case "annotations":
            from pipeline.report.annotations import gate_annotations

            return gate_annotations(verdicts, root)
        case _:
            raise ValueError(f"{name!r} is no format of a gate")
