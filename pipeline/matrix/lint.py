"""Plan lint: what cannot succeed, or promises more than it keeps, said before any build costs an hour.

An error is a configuration that cannot succeed; a warning is one that deserves a second look. To add a lint, write a
function from lane and policy to findings in ``lint_compiler`` or ``lint_targets`` and add it to ``LINTS``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from operator import attrgetter
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

GITHUB_JOBS = 256
"""Most jobs of a matrix in one workflow run: https://docs.github.com/en/actions/reference/limits."""


@dataclass(frozen=True, slots=True)
class Lint:
    """One lint. ``settings`` are all that it looks at; at the first it complains when the tables do not say."""

    rule: str
    settings: tuple[str, ...]
    complain: Callable[[Lane, Policy], Iterable[Finding]]


LINTS = (
    Lint("toolkit-arch", ("archs", "toolkit", "source"), lint_compiler.toolkit_cannot_emit),
    Lint("compression-mode", ("compression", "archs", "toolkit", "source"), lint_compiler.no_such_compression),
    Lint("toolkit-wheels", ("toolkit", "toolkit_from"), lint_compiler.wheels_without_nvcc),
    Lint("base-image-toolkit", ("base_image", "toolkit", "toolkit_from", "source"), lint_compiler.base_image_disagrees),
    Lint("toolkit-major", ("driver_floor", "toolkit", "targets"), lint_targets.toolkit_major),
    Lint(
        "fatbin-codec",
        ("compression", "archs", "driver_floor", "targets", "toolkit"),
        lint_targets.unreadable_compression,
    ),
    Lint("ptx-isa", ("archs", "driver_floor", "targets", "toolkit"), lint_targets.ptx_too_new),
    Lint("arch-missing", ("archs", "targets"), lint_targets.not_covered),
    Lint("driver-too-old-for-gpu", ("targets",), lint_targets.driver_too_old),
    Lint("driver-retired", ("targets", "archs", "driver_floor"), lint_targets.gpu_retired),
    Lint("arch-floor", ("archs", "driver_floor", "targets"), lint_targets.arch_unknown_to_floor),
    Lint("target-floor", ("targets", "driver_floor"), lint_targets.target_below_floor),
    Lint("gpu-name", ("targets",), lint_targets.misnamed_gpu),
    Lint("unproven-target", ("required", "targets"), lint_targets.unproven),
)

_ATTRIBUTES = {"source": "prebuilt", "toolkit_from": "toolkit_origin"}
"""Lane attributes that are not called like the setting that decides them."""


def lint(plan: Plan, policy: Policy) -> tuple[Finding, ...]:
    """Everything the lints say about the lanes, one finding for each place; ``count`` is how many lanes it concerns."""
    merged: dict[Hashable, Finding] = {}
    names: defaultdict[Hashable, list[str]] = defaultdict(list)
    lanes = [lane for lane in plan.lanes if lane.flavour is Flavour.CUDA]
    columns = {setting: _numbered(lanes, setting) for setting in {it for each in LINTS for it in each.settings}}
    for each in LINTS:
        for alike in _alike(lanes, [columns[setting] for setting in each.settings]):
            for finding in _complaints(each, alike[0], policy):
                key = (finding.rule, finding.path, finding.declared, finding.observed)
                merged[key] = _joined(merged.get(key), finding, len(alike))
                names[key] += [lane.id for lane in alike]
    findings = (replace(it, declared=f"{_some(names[key])}: {it.declared}") for key, it in merged.items())
    return (*findings, *_same_assets(plan.lanes), *_too_many(plan))


def demand_sound(plan: Plan, policy: Policy) -> tuple[Finding, ...]:
    """The warnings about a plan; ``UsageError`` with every error where it cannot succeed."""
    findings = lint(plan, policy)
    if failed(findings):
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        raise UsageError("\n".join(f"{each.sentence}; {each.remedy} ({each.rule})" for each in errors))
    return findings


def failed(findings: Iterable[Finding]) -> bool:
    """Whether a finding says that the plan cannot succeed."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _alike(lanes: Sequence[Lane], numbers: Sequence[Sequence[int]]) -> Iterable[list[Lane]]:
    """The lanes grouped by these columns: in a matrix of thousands, few differ in what one lint looks at."""
    groups: defaultdict[tuple[int, ...], list[Lane]] = defaultdict(list)
    for lane, key in zip(lanes, zip(*numbers, strict=True), strict=True):
        groups[key].append(lane)
    return groups.values()


def _numbered(lanes: Sequence[Lane], setting: str) -> list[int]:
    """For each lane a number that is the same where value and place of the setting are.

    Values are compared by identity, which is cheap: lanes that take one from the same place in the file share it.
    Required checks are made for each lane, so they are compared as what they are.
    """
    seen: dict[Hashable, int] = {}
    value_of = attrgetter(_ATTRIBUTES.get(setting, setting))
    made = setting == "required"
    values = [value_of(lane) if made else id(value_of(lane)) for lane in lanes]
    places = [id(lane.places.get(setting)) for lane in lanes]
    return [seen.setdefault(key, len(seen)) for key in zip(values, places, strict=True)]


def _complaints(each: Lint, lane: Lane, policy: Policy) -> Iterator[Finding]:
    try:
        yield from each.complain(lane, policy)
    except OutsidePolicy as error:
        yield Finding(
            rule=each.rule,
            severity=Severity.WARNING,
            path=str(lane.place(each.settings[0])),
            declared=f"lint {each.rule}",
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
