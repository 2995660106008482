"""How large a bundle is, how long its build and checks took, and how quickly its server answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from pipeline.model.size import size_text
from pipeline.report.recorded import part, rows, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import LaneVerdict
    from pipeline.model.evidence import Evidence

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Times:
    """In words; empty where nothing is on record. The server's are the slowest of all models and machines."""

    size: str
    of_budget: str
    build: str
    checks: str
    ready: str
    first_token: str
    warm_token: str

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of a table's columns."""
        return self.size, self.of_budget, self.build, self.checks, self.ready, self.first_token, self.warm_token


def times_of(verdict: LaneVerdict) -> Times:
    """The lane's."""
    size, budget = verdict.artifact.size if verdict.artifact else 0, verdict.lane.size_budget
    records = [check.evidence for check in verdict.checks if check.evidence is not None]
    smokes = [record for record in records if record.check.partition("@")[0] == "smoke"]
    return Times(
        size=size_text(size) if size else "",
        of_budget=f"{size / budget:.0%}" if size and budget else "",
        build=_took(taken(verdict.built)),
        checks=_took(sum(map(taken, records))),
        ready=_slowest(smokes, "ready"),
        first_token=_slowest(smokes, "first_token"),
        warm_token=_slowest(smokes, "warm_token"),
    )


def taken(record: Evidence | None) -> float:
    """The seconds of a record by its own times; 0 without one or where they make no sense."""
    if record is None:
        return 0.0
    try:
        took = datetime.fromisoformat(record.finished) - datetime.fromisoformat(record.started)
    except (ValueError, TypeError):  # not dates, or only one of them with a zone
        return 0.0
    return max(took.total_seconds(), 0.0)


def _slowest(smokes: Sequence[Evidence], what: str) -> str:
    found = (seconds(part(row, "seconds"), what) for record in smokes for row in rows(record.document, "models"))
    slowest = max((each for each in found if each is not None), default=None)
    return f"{slowest:.2f} s" if slowest is not None else ""


def _took(time: float) -> str:
    if not time:
        return ""
    if time < 1:
        return f"{time:.2f} s"
    return f"{time:.1f} s" if time < _MINUTE else f"{int(time // _MINUTE)} min {int(time % _MINUTE)} s"
