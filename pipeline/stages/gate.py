"""The gate over the lanes of a plan: read what is on record about each bundle, and judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline import evidence as records
from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.evidence.envelope import trusted
from pipeline.gate import LaneVerdict, Terms, judge, refuse
from pipeline.policy import load_policy
from pipeline.stages.build import bundle_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pipeline.evidence.envelope import Keyring
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane, Plan
    from pipeline.stages.street import Street


def judge_plan(
    plan: Plan, street: Street, problems: Mapping[str, str], *, more_evidence: Sequence[Path] = ()
) -> tuple[LaneVerdict, ...]:
    """Judge each lane on the bundle in the state directory; ``problems`` say why a lane has none.

    ``UsageError`` when a key or root of the plan's terms cannot be read.
    """
    court = court_of(plan, street, more_evidence=more_evidence)
    return tuple(_judge_lane(lane, court, problems.get(lane.id)) for lane in plan.lanes)


@dataclass(frozen=True, slots=True)
class Court:
    """What all lanes of a plan are judged with: where evidence lies, on which terms it counts, whose signature does."""

    street: Street
    terms: Terms
    keys: Keyring | None
    more_evidence: tuple[Path, ...]

    @property
    def own_signature(self) -> tuple[str, ...]:
        """The id of the key that this run signs with, if it is trusted; nothing otherwise."""
        key, trusted = self.street.signing, self.keys.keys if self.keys is not None else ()
        return tuple(str(each.keyid) for each in trusted if key is not None and each.keyid == key.id)

    def evidence(self, sha256: str) -> tuple[Evidence, ...]:
        """What is on record about a bundle; ``CorruptInput`` or ``InfrastructureError`` when it cannot be read."""
        directories = [self.street.evidence, *self.more_evidence]
        # Not at the time of ``terms``: a court that sat down before an hour of building reads what came of it.
        return records.read(directories, sha256, now=self.street.clock(), keyring=self.keys)


def court_of(plan: Plan, street: Street, *, more_evidence: Sequence[Path] = ()) -> Court:
    """The court of a plan, as it judges now; ``UsageError`` when a key or root of its terms cannot be read."""
    terms = Terms(
        now=street.clock(),
        policy=load_policy(),
        tables=street.origin.policy,
        wanted=plan.terms,
        commit=street.origin.commit,
    )
    return Court(street, terms, trusted(plan.terms), tuple(more_evidence))


def _judge_lane(lane: Lane, court: Court, problem: str | None) -> LaneVerdict:
    try:
        artifact = bundle_of(lane, court.street, more_evidence=court.more_evidence)
        evidence = court.evidence(artifact.sha256) if artifact else ()
    except (CorruptInput, InfrastructureError) as error:
        return refuse(lane, error, court.terms.policy)  # the other lanes have theirs
    why = "" if artifact else problem or _why_no_bundle(lane, court.street)
    return judge(lane, artifact, evidence, terms=court.terms, why_no_artifact=why)


def _why_no_bundle(lane: Lane, street: Street) -> str:
    """Where a build left its record, other bytes lie now in its bundle's place, or the build was for another recipe."""
    from pipeline.build.recipe import RECORD

    if (street.lane_folder(lane.id) / RECORD).is_file():
        return "the bundle is not the one that was built, or matrix.yaml changed since"
    return "not built"
