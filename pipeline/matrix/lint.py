"""Plan lint: what cannot succeed, or promises more than it keeps, said before any build costs an hour.

An error is a configuration that cannot succeed; a warning is one that deserves a second look. To add a lint, write a
function from lane and policy to findings in ``lint_compiler`` or ``lint_targets`` and name it in ``LINTS``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.matrix import lint_compiler, lint_targets
from pipeline.model.finding import Finding, Severity
from pipeline.model.lane import Flavour
from pipeline.policy.unknown import OutsidePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from pipeline.model.lane import Lane, Plan
    from pipeline.policy import Policy

    Lint = Callable[[Lane, Policy], Iterable[Finding]]

GITHUB_JOBS = 256
"""Most jobs of a matrix in one workflow run: https://docs.github.com/en/actions/reference/limits."""

LINTS: tuple[tuple[str, str, Lint], ...] = (
    ("toolkit-arch", "archs", lint_compiler.toolkit_cannot_emit),
    ("compression-mode", "compression", lint_compiler.no_such_compression),
    ("toolkit-wheels", "toolkit", lint_compiler.wheels_without_nvcc),
    ("base-image-toolkit", "base_image", lint_compiler.base_image_disagrees),
    ("toolkit-major", "driver_floor", lint_targets.toolkit_major),
    ("fatbin-codec", "compression", lint_targets.unreadable_compression),
    ("ptx-isa", "archs", lint_targets.ptx_too_new),
    ("arch-missing", "archs", lint_targets.not_covered),
    ("driver-too-old-for-gpu", "targets", lint_targets.driver_too_old),
    ("driver-retired", "targets", lint_targets.gpu_retired),
    ("arch-floor", "archs", lint_targets.arch_unknown_to_floor),
    ("target-floor", "targets", lint_targets.target_below_floor),
    ("gpu-name", "targets", lint_targets.misnamed_gpu),
    ("unproven-target", "required", lint_targets.unproven),
)
"""Each lint's rule id, the setting that it is about, and the function whose docstring explains it."""


def lint(plan: Plan, policy: Policy) -> tuple[Finding, ...]:
    """Everything the lints say about the lanes, one finding for each place; ``count`` is how many lanes it concerns."""
    merged: dict[Hashable, Finding] = {}
    names: defaultdict[Hashable, list[str]] = defaultdict(list)
    for lanes in _alike(plan.lanes).values():
        for finding in _lint_lane(lanes[0], policy):
            key = (finding.rule, finding.path, finding.declared, finding.observed)
            merged[key] = _joined(merged.get(key), finding, len(lanes))
            names[key] += [lane.id for lane in lanes]
    findings = (
        replace(finding, declared=f"{_some(names[key])}: {finding.declared}") for key, finding in merged.items()
    )
    return (*findings, *_same_assets(plan.lanes), *_too_many(plan))


def demand_sound(plan: Plan, policy: Policy) -> tuple[Finding, ...]:
    """The warnings about a plan; ``UsageError`` with every error where it cannot succeed."""
    findings = lint(plan, policy)
    if failed(findings):
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        raise UsageError("\n".join(f"{each.path}: {each.rule}: {spoken(each)}" for each in errors))
    return findings


def spoken(finding: Finding) -> str:
    """Both sides of a finding and its remedy, as one line."""
    return f"{finding.declared}, but {finding.observed}; {finding.remedy}"


def failed(findings: Iterable[Finding]) -> bool:
    """Whether a finding says that the plan cannot succeed."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _alike(lanes: Iterable[Lane]) -> dict[Hashable, list[Lane]]:
    """The CUDA lanes, grouped by all that a lint looks at: a matrix of thousands has few that differ in it."""
    groups: defaultdict[Hashable, list[Lane]] = defaultdict(list)
    for lane in lanes:
        if lane.flavour is Flavour.CUDA:
            groups[_looked_at(lane)].append(lane)
    return groups


def _looked_at(lane: Lane) -> Hashable:
    promise = (lane.toolkit, lane.toolkit_origin, lane.archs, lane.compression, lane.driver_floor, lane.base_image)
    places = tuple(lane.place(setting) for setting in ("archs", "compression", "driver_floor", "targets"))
    return (*promise, lane.targets, lane.required, lane.prebuilt, places)


def _lint_lane(lane: Lane, policy: Policy) -> Iterator[Finding]:
    for rule, setting, function in LINTS:
        try:
            yield from function(lane, policy)
        except OutsidePolicy as error:
            yield Finding(
                rule=rule,
                severity=Severity.WARNING,
                path=str(lane.place(setting)),
                declared=f"lint {rule}",
                observed=f"unknown: {error.message}",
                remedy="check by hand, or use a version of this tool with newer tables",
            )


def _joined(earlier: Finding | None, finding: Finding, lanes: int) -> Finding:
    if earlier is None:
        return replace(finding, count=lanes)
    targets = tuple(dict.fromkeys((*earlier.targets, *finding.targets)))
    return replace(earlier, count=earlier.count + lanes, targets=targets)


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _too_many(plan: Plan) -> Iterator[Finding]:
    """More lanes than GitHub starts: fine here, refused by ``plan --format github``."""
    if len(plan.lanes) > GITHUB_JOBS:
        yield Finding(
            rule="github-jobs",
            severity=Severity.WARNING,
            path=str(plan.matrix_file),
            declared=f"{len(plan.lanes)} lanes",
            observed=f"GitHub starts at most {GITHUB_JOBS} jobs of a matrix",
            remedy="exclude some, or select with --lane in a workflow",
            count=len(plan.lanes),
        )


def _same_assets(lanes: Iterable[Lane]) -> Iterator[Finding]:
    """Two lanes whose bundles would have one file name cannot both be published."""
    by_name: defaultdict[str, list[Lane]] = defaultdict(list)
    for lane in lanes:
        if not lane.prebuilt:
            by_name[lane.asset_name].append(lane)
    for name, same in by_name.items():
        if len(same) > 1:
            yield Finding(
                rule="asset-name",
                severity=Severity.ERROR,
                path=str(same[1].position),
                declared=_some([lane.id for lane in same]),
                observed=f"all would be published as {name}",
                remedy="give each a bundle: {name: …, version: …} of its own",
                count=len(same),
            )
