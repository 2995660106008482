"""The gate's verdicts laid out for pages: checks grouped by what became of them, targets with their marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.gate.standing import Standing, assemblers_of
from pipeline.model.size import size_text
from pipeline.report.change_view import change_of
from pipeline.report.coverage import coverage, of_document
from pipeline.report.recorded import inside
from pipeline.report.times_view import taken, times_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.gate import CheckStanding, LaneVerdict, TargetStanding
    from pipeline.model.evidence import Evidence
    from pipeline.report.change_view import Change, Loss
    from pipeline.report.coverage import Coverage
    from pipeline.report.times_view import Times

MARKS = {
    Standing.PROVEN: "●",
    Standing.REHEARSED: "◐",
    Standing.INFERRED: "○",
    Standing.WAIVED: "~",
    Standing.MISSING: "?",
    Standing.FAILED: "✕",
}
"""A sign for each standing that is told apart without colour; the word stands beside it."""

MEANINGS = {
    Standing.PROVEN: "seen on such a GPU and driver",
    Standing.REHEARSED: "an assembler accepted its PTX; no GPU was there",
    Standing.INFERRED: "follows from the bytes by the rules",
    Standing.WAIVED: "excepted by name, until a day",
    Standing.MISSING: "no evidence that counts",
    Standing.FAILED: "was looked at, and is wrong",
}
_MOST_FINDINGS = 20
_MOST_GROUPS = 20
_MOST_LIBRARIES = 8


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """Checks that share a standing, a reason and where they were seen; ``seen`` ends with the seconds of them all."""

    standing: Standing
    checks: tuple[str, ...]
    reason: str
    seen: str


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A promised target: what suffices, what is known, and by what."""

    label: str
    gpu: str
    suffices: str
    standing: Standing
    known_by: str


@dataclass(frozen=True, slots=True)
class ToldFinding:
    """A finding out of a failed check's own document."""

    check: str
    rule: str
    observed: str
    remedy: str
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class LaneView:
    """One lane as a page shows it; ``left_out`` counts the findings that it does not show.

    ``change`` is ``None`` without a comparison on record, ``besides`` what that found and is no finding of the lane;
    ``coverage`` is empty where no record has kernels.
    """

    id: str
    approved: bool
    why: str
    facts: tuple[tuple[str, str], ...]
    groups: tuple[CheckGroup, ...]
    targets: tuple[TargetRow, ...]
    findings: tuple[ToldFinding, ...]
    left_out: int
    change: Change | None
    besides: tuple[Loss, ...]
    times: Times
    coverage: tuple[Coverage, ...]
    libraries_left_out: int


def lane_view(
    verdict: LaneVerdict, *, most_findings: int = _MOST_FINDINGS, most_groups: int = _MOST_GROUPS
) -> LaneView:
    """The lane, laid out, with at most so many findings, and kernel groups of a library."""
    documents = _documents(verdict)
    change = change_of(documents.get("diff", {}))
    kernels = of_document(documents.get("audit", {})) or of_document(documents.get("diff", {}))
    libraries = coverage(kernels, most=most_groups, partial_only=True)
    # Several checks of one lane often found the same; the first of them tells it.
    found = [item for check in verdict.checks for item in _findings(check)]
    findings = list({(item.rule, item.path, item.observed): item for item in reversed(found)}.values())[::-1]
    return LaneView(
        id=verdict.lane.id,
        approved=verdict.approved,
        why=why(verdict),
        facts=tuple(_facts(verdict, change)),
        groups=_groups(verdict.checks),
        targets=tuple(_target(target) for target in verdict.targets),
        findings=tuple(findings[:most_findings]),
        left_out=len(findings[most_findings:]),
        change=change,
        besides=_besides(change, findings),
        times=times_of(verdict),
        coverage=libraries[:_MOST_LIBRARIES],
        libraries_left_out=len(libraries[_MOST_LIBRARIES:]),
    )


def why(verdict: LaneVerdict) -> str:
    """What refuses the lane, each reason once with how many checks it is about; what approves it otherwise."""
    groups = [group for group in _groups(verdict.checks) if verdict.approved or not group.standing.approves]
    if verdict.approved or not groups:
        words = [f"{sum(len(g.checks) for g in groups if g.standing is s)} {s.value}" for s in Standing]
        return ", ".join(word for word in words if not word.startswith("0 ")) or "no check is required"
    return "; ".join(f"{_several(group.checks)} {group.standing.value}: {group.reason}" for group in groups)


def _several(checks: tuple[str, ...]) -> str:
    return ", ".join(checks) if len(checks) <= 2 else f"{checks[0]} and {len(checks) - 1} more checks"


def _facts(verdict: LaneVerdict, change: Change | None) -> Iterator[tuple[str, str]]:
    lane, artifact = verdict.lane, verdict.artifact
    yield "asset", artifact.path.name if artifact else "none"
    if artifact:
        budget = f" of at most {size_text(lane.size_budget)}" if lane.size_budget else ""
        yield "size", f"{size_text(artifact.size)}{budget}"
        if change is not None:
            yield "last release", f"{change.size}, {change.grew}"
        yield "sha256", artifact.sha256
    if lane.toolkit:
        yield "toolkit", str(lane.toolkit)
    if lane.archs:
        yield "architectures", " ".join(arch.cmake for arch in lane.archs)
    if lane.driver_floor:
        yield "driver", f">= {lane.driver_floor}"
    yield "matrix", str(lane.position)


def _besides(change: Change | None, findings: Sequence[ToldFinding]) -> tuple[Loss, ...]:
    told = {(finding.rule, finding.observed) for finding in findings}
    losses = change.losses if change is not None else ()
    return tuple(loss for loss in losses if (loss.rule, loss.observed) not in told)


def _documents(verdict: LaneVerdict) -> dict[str, Mapping[str, Any]]:
    """What each check has on record."""
    return {check.check: check.evidence.document for check in verdict.checks if check.evidence is not None}


def _groups(checks: Sequence[CheckStanding]) -> tuple[CheckGroup, ...]:
    """What refuses first."""
    found: dict[tuple[Standing, str, str], list[CheckStanding]] = {}
    for check in checks:
        found.setdefault((check.standing, check.reason, _seen(check.evidence)), []).append(check)
    made = [
        CheckGroup(standing, tuple(item.check for item in alike), reason, f"{seen}{_took(alike)}")
        for (standing, reason, seen), alike in found.items()
    ]
    return tuple(sorted(made, key=lambda group: group.standing.approves))


def _took(checks: Sequence[CheckStanding]) -> str:
    took = sum(taken(check.evidence) for check in checks)
    return f", {took:.1f} s" if took else ""


def _seen(record: Evidence | None) -> str:
    if record is None:
        return ""
    machine = record.machine
    place = f"{machine.gpu}, driver {machine.driver}" if machine.device == "cuda" else "CPU"
    stand_in = f", stand-in: {machine.stand_in}" if machine.stand_in else ""
    return f"{place}, {machine.engine}{stand_in}, {record.finished[:10]}"


def _target(target: TargetStanding) -> TargetRow:
    seen: dict[str, list[str]] = {}
    for record in target.proofs:
        seen.setdefault(_seen(record), []).append(record.check.partition("@")[0])
    words = [f"{', '.join(checks)}: {place}" for place, checks in seen.items()]
    words += [f"with {word}" for record in target.rehearsals for word in assemblers_of(record)]
    if target.rules and target.standing is not Standing.PROVEN:
        words.append(f"by {', '.join(target.rules)}")
    words += [target.reason] if target.reason else []
    words += [f"also passed on {', '.join(target.elsewhere)}, which is another promise"] if target.elsewhere else []
    wanted = target.target
    return TargetRow(wanted.label, wanted.gpu or "", wanted.suffices.value, target.standing, "; ".join(words))


def _findings(check: CheckStanding) -> Iterator[ToldFinding]:
    """Errors out of the document of a check that failed; a record is data of others, and nothing in it is trusted."""
    if check.standing is not Standing.FAILED or check.evidence is None:
        return
    rows: Any = check.evidence.document.get("findings")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("severity") == "error":
            rule, observed, remedy, path = (str(row.get(name, "")) for name in ("rule", "observed", "remedy", "path"))
            count = row.get("count")
            yield ToldFinding(check.check, rule, observed, remedy, inside(path), count if isinstance(count, int) else 1)
