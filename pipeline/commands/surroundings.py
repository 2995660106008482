"""What commands that walk lanes work with: the plan of their matrix file, and the street of this machine."""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from pipeline.model.evidence import Origin
    from pipeline.model.lane import Plan
    from pipeline.scaffold import origin as scaffold
    from pipeline.stages.street import Street


_PAUSES = (5.0, 15.0, 45.0)
"""Seconds before each further look: a driver that reloads and a card that another program fills take some."""

MOST_RETRIES = len(_PAUSES)


def planned(arguments: argparse.Namespace) -> Plan:
    """Load and lint the matrix file; errors of either are ``UsageError`` with every mistake."""
    from pipeline.matrix.lint import failed, lint
    from pipeline.matrix.load import load_plan
    from pipeline.policy import load_policy
    from pipeline.report.plan import complaints

    policy = load_policy()
    plan = load_plan(arguments.matrix, only=getattr(arguments, "lane", []), policy=policy)
    findings = lint(plan, policy)
    if failed(findings):
        raise UsageError("\n".join(complaints(findings, color=False)))
    return plan


def this_cubingate(named: str | None) -> scaffold.Origin:
    """The cubingate that workflows use: the one that was ``named``, else what this one was installed from."""
    from pipeline.scaffold.origin import Origin

    if named is not None:
        return Origin.parse(named)
    try:
        recorded = importlib.metadata.distribution("cubingate").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        recorded = None
    return Origin.of_installation(recorded or "")


def _origin(environment: Mapping[str, str]) -> Origin:
    """The workflow's own words for commit and run, as GitHub sets them for every step."""
    from pipeline import __version__
    from pipeline.model.evidence import Origin
    from pipeline.policy.digest import tables_digest

    run = environment.get("GITHUB_RUN_ID")
    attempt = environment.get("GITHUB_RUN_ATTEMPT", "1")
    return Origin(
        tool=__version__,
        policy=tables_digest(),
        commit=environment.get("GITHUB_SHA") or None,
        run=f"{run}.{attempt}" if run else None,
    )


@contextmanager
def open_street(arguments: argparse.Namespace) -> Iterator[Street]:
    """The street of this machine; its engine is closed when the block ends."""
    from pipeline.commands.build_settings import settings_for
    from pipeline.evidence.envelope import signing_key
    from pipeline.machine import installed_gpus
    from pipeline.report.progress import Talk
    from pipeline.stages.street import Engines, Street

    environment = options.environment()
    key = getattr(arguments, "sign", None)
    engines = Engines(environment)
    try:
        yield Street(
            state=arguments.state.resolve(),
            evidence=arguments.state.resolve() / "evidence",
            talk=Talk(sys.stderr, environment),
            clock=lambda: datetime.now(UTC),
            environment=environment,
            engines=engines,
            build=settings_for(arguments.matrix, environment),
            gpus=installed_gpus,
            origin=_origin(environment),
            signing=signing_key(key) if key is not None else None,
            retries=_PAUSES[: getattr(arguments, "retries", 0)],
        )
    finally:
        engines.close()
