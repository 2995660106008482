"""An audit as SARIF 2.1.0 for code scanning: results on the line of matrix.yaml, the binary as logical location.

Limits: https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pipeline import __version__
from pipeline.report.places import Place, artifact_of, lane_place, repository_path
from pipeline.report.sarif_rules import rule_metadata
from pipeline.report.shown import counted, shown, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import PurePath

    from pipeline.audit.report import AuditedArtifact
    from pipeline.model.finding import Finding
    from pipeline.report.told import Told

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5000
"""GitHub takes 25,000 results of a run and shows the gravest 5,000."""


def sarif(told: Told, root: PurePath) -> str:
    """The log; paths are relative to ``root``, the top of the repository."""
    kept = told.findings[:MOST_RESULTS]
    ids = list(
        dict.fromkeys(shown(rule) for rule in [*(each.rule for each in kept), *(each.rule for each in told.outcomes)])
    )
    driver = {
        "name": "cubingate",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [rule_metadata(rule) for rule in ids],
    }
    numbers = {rule: number for number, rule in enumerate(ids)}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"cubingate-audit/{told.lane.id if told.lane else shown(told.name)}/"},
        "invocations": [_invocation(told)],
        "results": list(_results(told, kept, numbers, root)),
        "columnKind": "unicodeCodePoints",
        "properties": {"verdict": told.verdict.value, "findings": len(told.findings), "reported": len(kept)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _invocation(told: Told) -> dict[str, Any]:
    """Whether it ran to its end, with the contract's status; what was left out is said here."""
    left_out = len(told.findings) - MOST_RESULTS
    notes = [("note", shown(text)) for text in told.notes]
    if left_out > 0:
        notes.append(("warning", f"{left_out} of {counted(len(told.findings), 'finding')} left out; JSON has all"))
    return {
        "executionSuccessful": told.status in {0, 1},
        "exitCode": int(told.status),
        "toolExecutionNotifications": [{"level": level, "message": {"text": text}} for level, text in notes],
    }


def _results(told: Told, kept: Sequence[Finding], numbers: dict[str, int], root: PurePath) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in kept:
        artifact = artifact_of(told, finding)
        fingerprint = _fingerprint(told, finding, artifact)
        seen[fingerprint] += 1
        yield {
            "ruleId": shown(finding.rule),
            "ruleIndex": numbers[shown(finding.rule)],
            "level": finding.severity.value,
            "message": {"text": _message(finding, _where(finding, artifact))},
            "locations": [_location(told, finding, artifact, root)],
            "occurrenceCount": max(finding.count, 1),
            "partialFingerprints": {"cubingate/v1": f"{fingerprint}:{seen[fingerprint]}"},
            "properties": {"targets": [shown(label) for label in finding.targets]},
        }


def _where(finding: Finding, artifact: AuditedArtifact | None) -> str:
    """The member's path from the artifact's name on: the folder that it lay in is nobody's business."""
    whole = shown(artifact.path) if artifact else ""
    return shown(finding.path.replace(whole, whole.rpartition("/")[2], 1) if whole else finding.path)


def _message(finding: Finding, where: str) -> str:
    return (
        f"{shown(finding.observed)}{times(finding.count)}. Declared: {shown(finding.declared)}. "
        f"Fix: {shown(finding.remedy)}. In {where}"
    )


def _location(told: Told, finding: Finding, artifact: AuditedArtifact | None, root: PurePath) -> dict[str, Any]:
    # A region is required by GitHub; a binary has no lines, so that its first one stands for the whole.
    if told.lane is not None:
        place = lane_place(told.lane, root, finding.rule)
    else:
        file = artifact.path if artifact else finding.path.partition("!/")[0]
        place = Place(file if "://" in file else repository_path(file, root), 1)
    where = _where(finding, artifact)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file)},
            "region": {"startLine": place.line, "startColumn": place.column},
        },
        "logicalLocations": [
            {"name": where.rpartition("!/")[2], "fullyQualifiedName": where, "kind": "member"},
        ],
    }


def _uri(file: str) -> str:
    """A relative reference; a scheme (``docker://image``) stays one, a colon in a file's name becomes none."""
    scheme, there, rest = file.partition("://")
    quoted = quote((rest if there else file).encode("utf-8", "surrogateescape"), safe="/@:" if there else "/")
    return f"{scheme}://{quoted}" if there else quoted or "."


def _fingerprint(told: Told, finding: Finding, artifact: AuditedArtifact | None) -> str:
    """The same finding in another run, on another machine or in another order has the same one.

    The lane, or the artifact's name, stands for the artifact's path, so that neither a folder nor, with a lane, the
    version in the name of an asset and of the folder inside it counts.
    """
    path = shown(artifact.path) if artifact else ""
    name = told.lane.id if told.lane else path.rpartition("/")[2]
    sides = [finding.path, finding.declared, finding.observed]
    if path:
        sides = [side.replace(path, name) for side in sides]
    if told.lane:
        bundle = told.lane.bundle
        sides = [side.replace(f"{bundle.name}-{bundle.version}", bundle.name) for side in sides]
    about = (finding.rule, *sides, *sorted(finding.targets))
    return hashlib.sha256("\0".join(about).encode("utf-8", "backslashreplace")).hexdigest()[:32]
