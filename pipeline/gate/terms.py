"""On which terms evidence counts: who signed it, how old it may be, from which commit, under which tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pipeline.evidence import instant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import EvidenceTerms
    from pipeline.policy import Policy

_JUDGED_BY_TABLES = ("audit", "diff", "rehearse", "jit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the gate holds every record against.

    ``now`` is the time of judging (UTC), ``tables`` the digest of ``policy``'s tables, ``commit`` the one that is
    released, ``None`` where nobody says.
    """

    now: datetime
    policy: Policy
    tables: str
    wanted: EvidenceTerms
    commit: str | None = None

    def objection(self, record: Evidence) -> str | None:
        """Why ``record`` does not count, ``None`` when it does."""
        return next(self._objections(record), None)

    def _objections(self, record: Evidence) -> Iterator[str]:
        wanted, origin = self.wanted, record.origin
        if wanted.signed and not record.signed_by:
            by = f", but by {'; '.join(record.strangers)}" if record.strangers else ""
            yield f"unauthenticated: signed by nobody who is trusted{by}; {_how_to_sign(wanted)}"
        if wanted.max_age_days is not None and self.now - instant(record.finished) > timedelta(wanted.max_age_days):
            yield f"expired: older than {wanted.max_age_days} days"
        if wanted.same_commit and (self.commit is None or origin.commit != self.commit):
            yield f"from commit {_short(origin.commit)}, not {_short(self.commit)}"
        if record.check.partition("@")[0] in _JUDGED_BY_TABLES and origin.policy != self.tables:
            yield "judged under other policy tables than these"


def _how_to_sign(wanted: EvidenceTerms) -> str:
    """What gives a record a signature that counts."""
    ways = ["`cubingate run --sign KEY` signs with a key of evidence.keys"] if wanted.keys else []
    ways += ["sigstore signs as an identity of evidence.sigstore"] if wanted.identities else []
    return ", ".join(ways) or "neither evidence.keys nor evidence.sigstore names anybody"


def _short(commit: str | None) -> str:
    return commit[:12] if commit else "unknown"
