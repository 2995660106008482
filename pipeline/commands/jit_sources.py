"""What ``cubingate audit --jit`` does: compile what a lane's product compiles on its users' machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pipeline.commands.options import colored, emit_all, environment, terminal_width
from pipeline.errors import NothingExamined, UsageError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pipeline.errors import ExitStatus
    from pipeline.inventory.source import Source
    from pipeline.jit import JitReport
    from pipeline.model.lane import Lane
    from pipeline.policy import Policy


def audit_jit_sources(arguments: argparse.Namespace, lane: Lane, policy: Policy) -> ExitStatus:
    """Compile the lane's JIT sources for ``--target`` or the lane's own, print, and return the contract's status.

    ``UsageError`` where no target is named, ``NothingExamined`` for a lane without JIT sources.
    """
    from pipeline.commands.build_settings import settings_for
    from pipeline.report.progress import Talk
    from pipeline.stages.jit import compiled, jit_settings

    if not lane.jit_sources:
        raise NothingExamined(f"{lane.id} has no jit_sources", remedy="name a PATH, or add them to the lane")
    targets = [policy.parse_target(text) for text in dict.fromkeys(arguments.target)] or list(lane.targets)
    if not targets:
        raise UsageError("sources are compiled for a target", remedy="give --target SM@DRIVER")
    network = settings_for(arguments.matrix or lane_file(lane), environment()).network
    with Talk(sys.stderr, environment()).step(lane.id, "jit") as step:
        settings = jit_settings(arguments.state.resolve() / "cache", network, step)
        report = compiled(lane, targets, settings, bundle=_bundle(arguments.path))
    emit_all(arguments, lambda asked: _written(asked, report, lane))
    return report.status


def lane_file(lane: Lane) -> Path:
    """The matrix file that the lane stands in."""
    from pathlib import Path

    return Path(lane.position.file)


def _bundle(paths: list[Path | Source]) -> Path | None:
    from pathlib import Path

    if len(paths) > 1 or any(not isinstance(path, Path) for path in paths):
        raise UsageError("JIT sources lie in one bundle", remedy="name one file or folder")
    return next((path for path in paths if isinstance(path, Path)), None)


def _written(arguments: argparse.Namespace, report: JitReport, lane: Lane) -> str:
    if arguments.format == "json":
        from pipeline.report.jit_json import jit_json

        return jit_json(report)
    if arguments.format != "text":
        from pathlib import Path

        from pipeline.report.told import told_jit
        from pipeline.report.written import written_audit

        return written_audit(arguments.format, told_jit(report, lane), Path.cwd())
    from pipeline.report.jit_text import jit_text

    return jit_text(report, color=colored(arguments), width=terminal_width(arguments))
