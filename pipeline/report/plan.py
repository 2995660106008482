"""A plan as the contract prints it: the JSON document, GitHub's include list, the table for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.model.document import document
from pipeline.model.lane import Platform
from pipeline.report.color import paint
from pipeline.report.columns import columns
from pipeline.report.fold import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.model.finding import Finding
    from pipeline.model.lane import Lane, Plan, Target

_HOSTED = {Platform.X86_64: ("ubuntu-24.04",), Platform.AARCH64: ("ubuntu-24.04-arm",)}
"""Runners that build the lanes which name none."""


def plan_json(plan: Plan, findings: Sequence[Finding]) -> str:
    """The contract's ``plan`` document, a lane to a line: thousands are written ten times as fast as indented ones."""
    head = document("plan", {}).removesuffix("\n}")
    lanes = _lines(_lane(lane) for lane in plan.lanes)
    return f'{head},\n "lanes": {lanes},\n "findings": {_lines(finding.to_json() for finding in findings)}\n}}'


def _lines(items: Iterable[dict[str, Any]]) -> str:
    lines = ",\n  ".join(json.dumps(item) for item in items)
    return f"[\n  {lines}\n ]" if lines else "[]"


def plan_github(plan: Plan, *, most: int) -> str:
    """``{"include": […]}`` on one line for ``fromJSON``; ``UsageError`` for more than ``most`` jobs."""
    if len(plan.lanes) > most:
        raise UsageError(
            f"{plan.matrix_file}: {len(plan.lanes)} lanes, and GitHub starts at most {most} jobs of a matrix",
            remedy="exclude some, or select with --lane",
        )
    return json.dumps({"include": [_job(lane) for lane in plan.lanes]}, separators=(",", ":"))


def plan_table(plan: Plan, findings: Sequence[Finding], *, color: bool, width: int = 0) -> str:
    """One line for each lane, or a block where the terminal is narrower, then what the lints found."""
    lines = columns(
        ("lane", "archs", "driver", "targets", "required", "build"),
        [_cells(lane) for lane in plan.lanes],
        titled=lambda line: paint(line, "bold", color=color),
        width=width,
    )
    count = f"{len(plan.lanes)} lane{'s' if len(plan.lanes) != 1 else ''} from {plan.matrix_file}"
    return "\n".join([*lines, "", count, *folded(complaints(findings, color=color), width)])


def complaints(findings: Sequence[Finding], *, color: bool) -> list[str]:
    """One line for each finding."""
    styles = {"error": "red", "warning": "yellow", "note": "dim"}
    return [
        f"{paint(finding.severity.value, styles[finding.severity], color=color)}: {finding.sentence}; "
        f"{finding.remedy} ({finding.rule})"
        for finding in findings
    ]


def _cells(lane: Lane) -> tuple[str, ...]:
    return (
        lane.id,
        ";".join([arch.cmake for arch in lane.archs]) or "-",
        f">= {lane.driver_floor}" if lane.driver_floor else "-",
        " ".join(target.label if target.required else f"({target.label})" for target in lane.targets) or "-",
        " ".join(lane.required),
        "fetch" if lane.prebuilt else "on demand" if lane.on_demand else "build",
    )


def _lane(lane: Lane) -> dict[str, Any]:
    return {
        **_facts(lane),
        "bundle": {"name": lane.bundle.name, "version": lane.bundle.version},
        "toolkit_from": lane.toolkit_origin.value if lane.toolkit_origin else None,
        "base_image": lane.base_image.reference if lane.base_image else None,
        "glibc": str(lane.host_glibc) if lane.host_glibc else None,
        "glibcxx": str(lane.host_glibcxx) if lane.host_glibcxx else None,
        "cpu": str(lane.host_cpu) if lane.host_cpu else None,
        "size_budget": lane.size_budget,
        "host_libraries": list(lane.host_libraries),
        "targets": [_target(target) for target in lane.targets],
        "required": list(lane.required),
        "waivers": [
            {
                "check": each.check,
                "reason": each.reason,
                "owner": each.owner,
                "expires": each.expires,
                "rule": each.rule,
                "path": each.path,
            }
            for each in lane.waivers
        ],
        "combination": lane.combination,
        "position": str(lane.position),
    }


def _facts(lane: Lane) -> dict[str, Any]:
    return {
        "id": lane.id,
        "flavour": lane.flavour.value,
        "platform": lane.platform.value,
        "toolkit": str(lane.toolkit) if lane.toolkit else None,
        "archs": [arch.cmake for arch in lane.archs],
        "compression": lane.compression.value if lane.compression else None,
        "driver_floor": str(lane.driver_floor) if lane.driver_floor else None,
        "prebuilt": lane.prebuilt,
        "on_demand": lane.on_demand,
    }


def _target(target: Target) -> dict[str, Any]:
    return {
        "target": target.label,
        "sm": str(target.sm),
        "driver": str(target.driver),
        "gpu": target.gpu,
        "required": target.required,
        "suffices": target.suffices.value,
        "runner": list(target.runner),
    }


def _job(lane: Lane) -> dict[str, Any]:
    """A job's values: ``runner`` builds the lane, that of each target proves it there."""
    runner = lane.runner or _HOSTED[lane.platform]
    return {**_facts(lane), "runner": list(runner), "targets": [_target(target) for target in lane.targets]}
