"""What a bundle became since the last release, out of the comparison on record: size, drivers, losses, what grew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.model.size import size_text
from pipeline.model.versions import DriverVersion
from pipeline.report.recorded import count, part, rows, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_MEMBERS = 5
MOST_LOSSES = 10
_SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Loss:
    """What a rule of the comparison found; an ``error`` is a loss that nobody allowed."""

    rule: str
    severity: str
    observed: str
    count: int


@dataclass(frozen=True, slots=True)
class Change:
    """A bundle beside the one released before, in words. ``left_out`` counts losses, ``errors`` those not allowed.

    ``allowed`` are the rules by which it lost something that matrix.yaml lets it lose.
    """

    old: str
    size: str
    grew: str
    raised: tuple[str, ...]
    lowered: tuple[str, ...]
    losses: tuple[Loss, ...]
    left_out: int
    errors: int
    allowed: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def lost(self) -> tuple[Loss, ...]:
        """What nobody allowed."""
        return tuple(loss for loss in self.losses if loss.severity == "error")


def change_of(document: Mapping[str, Any]) -> Change | None:
    """The comparison as a page tells it; ``None`` where the document has no two sizes."""
    old, new = (count(part(document, side), "size") for side in ("old", "new"))
    if not old or not new:
        return None
    found = sorted(_losses(document), key=lambda loss: _SEVERITIES.index(loss.severity))
    floors = tuple(_floors(document))
    return Change(
        old=text(part(document, "old"), "path").rpartition("/")[2],
        size=f"{size_text(old)} → {size_text(new)}",
        grew=grown(old, new),
        raised=tuple(words for words, up in floors if up),
        lowered=tuple(words for words, up in floors if not up),
        losses=tuple(found[:MOST_LOSSES]),
        left_out=len(found[MOST_LOSSES:]),
        errors=sum(loss.severity == "error" for loss in found),
        allowed=tuple(text(row, "rule") for row in rows(document, "outcomes") if text(row, "status") == "waived"),
        members=tuple(_members(document)),
    )


def grown(old: int, new: int) -> str:
    """``grew by 12.0%``, ``shrank by 3.1%`` or ``unchanged``; sizes in bytes, the first above 0."""
    return f"{'grew' if new > old else 'shrank'} by {abs(new - old) / old:.1%}" if new != old else "unchanged"


def _losses(document: Mapping[str, Any]) -> Iterator[Loss]:
    for row in rows(document, "findings"):
        severity = text(row, "severity")
        if severity in _SEVERITIES:
            yield Loss(text(row, "rule"), severity, text(row, "observed"), count(row, "count") or 1)


def _floors(document: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """GPUs whose lowest driver is another now, alike ones together, and whether it is a higher one."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows(document, "floors"):
        before, after = (text(part(row, side), "minimum_driver") for side in ("old", "new"))
        if before != after:
            alike.setdefault((before, after), []).append(f"sm_{text(row, 'sm')}")
    for (before, after), gpus in alike.items():
        yield f"{', '.join(gpus)}: {before or 'no driver'} → {after or 'no driver'}", _higher(before, after)


def _higher(before: str, after: str) -> bool:
    """No driver at all is higher than any; so is, to be safe, what is no version."""
    if not before or not after:
        return not after
    try:
        return DriverVersion.parse(after) > DriverVersion.parse(before)
    except ValueError:
        return True


def _members(document: Mapping[str, Any]) -> Iterator[str]:
    """Members that grew, the most first."""
    grew = [(count(row, "new") - count(row, "old"), row) for row in rows(document, "sizes") if text(row, "path")]
    for more, row in sorted((pair for pair in grew if pair[0] > 0), key=lambda pair: -pair[0])[:MOST_MEMBERS]:
        there = f"{size_text(count(row, 'old'))} → {size_text(count(row, 'new'))}" if count(row, "old") else "new"
        yield f"{text(row, 'path')}: {there} (+{size_text(more)})"
