"""``cubingate audit``: say from bytes alone whether device code will load on a GPU with a given driver."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands.artifact import HELP, artifact
from pipeline.commands.jit_sources import audit_jit_sources
from pipeline.commands.locks import add_lock_options, lock_reader
from pipeline.commands.options import (
    AUDIT_FORMATS,
    add_also,
    add_format,
    add_lanes,
    add_matrix,
    add_output,
    add_state,
    colored,
    emit_all,
    environment,
    terminal_width,
)
from pipeline.errors import ExitStatus, NothingExamined, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.audit import AuditReport
    from pipeline.audit.run import Artifacts, Rehearse
    from pipeline.inventory.memory import CachePlace
    from pipeline.model.lane import Lane
    from pipeline.policy import Policy
    from pipeline.rules.assembly import Rehearsal
    from pipeline.rules.declaration import Declaration, HostFloor
    from pipeline.rules.subject import Aim

_MOST_SECONDS = 86_400


def configure(parser: argparse.ArgumentParser) -> None:
    """Paths, targets, and what they are compared with."""
    parser.add_argument("path", metavar="PATH", type=artifact, nargs="*", help=HELP)
    parser.add_argument(
        "--target", metavar="SM@DRIVER", action="append", default=[], help="80@535.288.01 or 80@535 (repeatable)"
    )
    parser.add_argument(
        "--gpu",
        metavar="BOARD",
        help="the board of every --target, as 'RTX 4090' or 'A30 MIG 1g.6gb': what compat folders and images ask for",
    )
    add_matrix(parser, default=None)
    add_lanes(parser)
    parser.add_argument("--host", metavar="FLOOR", help="glibc=2.31,glibcxx=3.4.28,cpu=x86-64-v2,library=libgomp.so.1")
    parser.add_argument("--deep", action="store_true", help="unpack compressed payloads and look into them")
    parser.add_argument("--kernels", action="store_true", help="list kernels by name and judge them (implies --deep)")
    parser.add_argument(
        "--jit", action="store_true", help="compile the lane's jit_sources; without PATH this is what an audit does"
    )
    parser.add_argument(
        "--rehearse", action="store_true", help="assemble the PTX that the target's driver would compile, and judge it"
    )
    parser.add_argument(
        "--rehearse-seconds", metavar="N", type=_seconds, help="processor time for one PTX text (default 600)"
    )
    parser.add_argument(
        "--jit-library",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="rehearse targets of its branch with a driver's own libnvidia-ptxjitcompiler.so.VERSION (repeatable)",
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="read every file of a folder, also those known from an earlier look"
    )
    add_lock_options(parser)
    add_state(parser)
    add_format(parser, AUDIT_FORMATS)
    add_also(parser, AUDIT_FORMATS)
    add_output(parser)


def _seconds(text: str) -> float:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds up to {_MOST_SECONDS}")
    return float(text)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Audit and print; the status is the contract's."""
    from pipeline.audit import run_audit
    from pipeline.policy import load_policy
    from pipeline.report.progress import patience

    policy = load_policy()
    if arguments.jit or not arguments.path:
        return audit_jit_sources(arguments, _lane(arguments), policy)
    named = {text: policy.parse_target(text) for text in arguments.target}
    targets = [replace(target, gpu=arguments.gpu) for target in named.values()]
    if arguments.gpu is not None and not targets:
        raise UsageError("--gpu names the board of a target", remedy="give --target SM@DRIVER as well")
    lane = _lane(arguments) if arguments.lane or arguments.matrix is not None else None
    declaration, host = _declaration(lane), _host(arguments)
    lock = lock_reader(arguments, arguments.path, declaration, host)
    if lock is not None and arguments.rehearse:
        raise UsageError(
            "--rehearse needs the wheels themselves, not a lock file",
            remedy="fetch them (pip download --requirement LOCK --dest DIR) and audit the folder",
        )
    quiet = len(arguments.path) > 1 or arguments.rehearse or lock is not None  # processes are forked, or others speak
    with nullcontext() if quiet else patience(sys.stderr, environment(), f"reading {arguments.path[0]}"):
        report = run_audit(
            arguments.path,
            targets,
            policy,
            declaration=declaration,
            host=host,
            deep=arguments.deep,
            kernels=arguments.kernels,
            workers=os.cpu_count() or 1,
            rehearse=_rehearsed(arguments, policy) if arguments.rehearse else None,
            lock=lock,
            cache=_cache(arguments, environment()),
        )
    emit_all(arguments, lambda asked: _written(asked, report, lane))
    if report.status is ExitStatus.NOTHING_EXAMINED:
        names = ", ".join(str(path) for path in arguments.path)
        raise NothingExamined(f"{names}: neither ELF nor device code", remedy="name the bundle or the library itself")
    return report.status


def _rehearsed(arguments: argparse.Namespace, policy: Policy) -> Rehearse:
    """How this machine rehearses; what it is at goes to stderr."""
    from pipeline.commands.build_settings import settings_for
    from pipeline.rehearse import rehearse
    from pipeline.report.progress import Talk
    from pipeline.stages.assemblers import libraries_of, rehearse_settings

    if not arguments.target and not arguments.lane:
        raise UsageError("--rehearse is for a target", remedy="give --target SM@DRIVER, or --matrix and --lane")
    network = settings_for(arguments.matrix or Path("matrix.yaml"), environment()).network
    talk = Talk(sys.stderr, environment())
    libraries = (*arguments.jit_library, *libraries_of(environment()))
    name = arguments.path[0] if len(arguments.path) == 1 else f"{len(arguments.path)} artifacts"

    def run(artifacts: Artifacts, aims: tuple[Aim, ...]) -> Rehearsal:
        with talk.step(str(name), "rehearse") as step:
            cache = arguments.state / "cache"
            settings = rehearse_settings(cache, network, step, libraries=libraries, seconds=arguments.rehearse_seconds)
            return rehearse(artifacts, aims, policy, settings)

    return run


def _cache(arguments: argparse.Namespace, variables: Mapping[str, str]) -> CachePlace | None:
    """The user's cache folder, as the XDG base directory specification has it; none without a home or a folder."""
    if arguments.no_cache or not any(isinstance(path, Path) and path.is_dir() for path in arguments.path):
        return None
    from pipeline.inventory.memory import CachePlace

    chosen, home = variables.get("XDG_CACHE_HOME", ""), variables.get("HOME", "")
    base = Path(chosen) if chosen.startswith("/") else Path(home) / ".cache" if home else None
    return CachePlace(base / "cubingate" / "facts", time.time_ns()) if base is not None else None


def _host(arguments: argparse.Namespace) -> HostFloor | None:
    if not arguments.host:
        return None
    from pipeline.rules.declaration import HostFloor

    return HostFloor.parse(arguments.host)


def _written(arguments: argparse.Namespace, report: AuditReport, lane: Lane | None) -> str:
    if arguments.format == "json":
        from pipeline.report.audit_json import audit_json

        return audit_json(report)
    if arguments.format != "text":
        from pipeline.report.told import told_audit
        from pipeline.report.written import written_audit

        told = told_audit(report, lane)
        return written_audit(arguments.format, told, Path.cwd())
    from pipeline.report.audit_text import audit_text

    return audit_text(report, colour=colored(arguments), width=terminal_width(arguments))


def _declaration(lane: Lane | None) -> Declaration | None:
    """The declared side, when a lane is named."""
    if lane is None:
        return None
    from pipeline.rules.declaration import Declaration

    return Declaration.of(lane)


def _lane(arguments: argparse.Namespace) -> Lane:
    if not arguments.path and not arguments.lane and arguments.matrix is None:
        raise UsageError("nothing to audit", remedy="name a PATH, or --matrix FILE --lane ID for its JIT sources")
    if len(arguments.lane) != 1:
        raise UsageError("an audit compares with one lane", remedy="give --matrix FILE and exactly one --lane ID")
    from pipeline.matrix.load import load_plan

    plan = load_plan(arguments.matrix or Path("matrix.yaml"))
    for lane in plan.lanes:
        if lane.id == arguments.lane[0]:
            return lane
    known = ", ".join(lane.id for lane in plan.lanes)
    raise UsageError(f"{arguments.lane[0]!r} is not a lane of {plan.matrix_file}", remedy=f"lanes: {known}")
