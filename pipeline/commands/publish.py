"""``cubingate publish``: only what the gate approved, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.commands.surroundings import open_street, planned
from pipeline.errors import ExitStatus, InfrastructureError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from pipeline.gate import Approved, LaneVerdict
    from pipeline.model.lane import Plan, Publisher
    from pipeline.publishers.destination import Destination


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_state(parser)
    parser.add_argument(
        "--to", metavar="NAME", action="append", default=[], help="only this destination of matrix.yaml (repeatable)"
    )
    parser.add_argument(
        "--sums", metavar="FILE", type=Path, help="also write the digests of what is published here, for `sha256sum -c`"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="say what would be published, change nothing")
    what.add_argument(
        "--preflight",
        action="store_true",
        help="only ask each destination what would stop it, before anything is built",
    )


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Judge every lane again, then publish what is approved to each destination."""
    from pipeline.gate import approve
    from pipeline.publishers.destination import destination
    from pipeline.stages.gate import judge_plan
    from pipeline.stages.space import expected_bytes

    plan = planned(arguments)
    environment = options.environment()
    destinations = {each: destination(each, environment, plan.lanes) for each in _selected(plan, arguments.to)}
    if arguments.preflight:
        return _preflight(destinations, expected_bytes(plan.lanes, arguments.state))
    with open_street(arguments) as street:
        verdicts = judge_plan(plan, street, {})
    unjudged = [verdict for verdict in verdicts if verdict.trouble is not ExitStatus.PASS]
    if unjudged:
        # What was published stays: a damaged record is no reason to take a good bundle away.
        for verdict in unjudged:
            _say(f"nothing published: {verdict.lane.id}: {verdict.checks[0].reason}")
        return ExitStatus.gravest([verdict.trouble for verdict in unjudged])
    approved = [approve(verdict) for verdict in verdicts if verdict.approved]
    status = ExitStatus.gravest(
        _publish(publisher, place, verdicts, approved, dry_run=arguments.dry_run)
        for publisher, place in destinations.items()
    )
    if arguments.sums is not None and status is ExitStatus.PASS:
        _write_sums(arguments.sums, approved)
    return status


def _write_sums(file: Path, approved: Sequence[Approved]) -> None:
    lines = [f"{item.artifact.sha256}  {item.artifact.path.name}\n" for item in approved]
    try:
        file.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise InfrastructureError.of(error) from error


def _preflight(destinations: Mapping[Publisher, Destination], size: int) -> ExitStatus:
    from pipeline.publishers.space import check_space

    for publisher, place in destinations.items():
        place.preflight()
        check_space(place, size)
        _say(f"{publisher.name}: ready")
    return ExitStatus.PASS


def _selected(plan: Plan, names: Sequence[str]) -> tuple[Publisher, ...]:
    known = {publisher.name: publisher for publisher in plan.publishers}
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        wanted = ", ".join(unknown) or "any"
        raise UsageError(f"matrix.yaml has no destination {wanted}", remedy=f"it has: {', '.join(known) or 'none'}")
    return tuple(known[name] for name in names) if names else plan.publishers


def _publish(
    publisher: Publisher,
    place: Destination,
    verdicts: Sequence[LaneVerdict],
    approved: Sequence[Approved],
    *,
    dry_run: bool,
) -> ExitStatus:
    from pipeline.publishers.destination import Comparing, Holding
    from pipeline.publishers.space import check_space

    refused = [verdict.lane.id for verdict in verdicts if not verdict.approved]
    if refused and not publisher.partial:
        _say(f"{publisher.name}: nothing published: it takes all lanes or none; refused: {', '.join(refused)}")
        return ExitStatus.REFUSED
    place.preflight()
    check_space(place, sum(item.artifact.size for item in approved))
    held = {item.artifact.path.name for item in approved if isinstance(place, Holding) and place.holds(item)}
    where = ""
    if not dry_run:
        where = place.publish(approved)
    elif approved and isinstance(place, Comparing):
        place.compare(approved)
    for item in approved:
        name = item.artifact.path.name
        word = "unchanged" if name in held else "would publish" if dry_run else "published"
        _say(f"{publisher.name}: {word} {name}")
    if not approved:
        _say(f"{publisher.name}: no lane is approved")
    for line in where.splitlines() if approved else ():
        _say(f"{publisher.name}: at {line}")
    return ExitStatus.PASS if approved else ExitStatus.REFUSED


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
