"""Evidence on disk: one JSON file per record under the digest it is about, appended, never changed.

Layout: ``DIR/<sha256 of the bundle>/<check>/<finished>-<nonce>.json``. Reading checks that each record is about
the digest it lies under and that it is complete; a record that is not is ``CorruptInput``, never ignored, and a folder
that cannot be read is no absence of evidence: what it holds may be the newest failure.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.model.evidence import Evidence, Machine
from pipeline.model.finding import Outcome, Status
from pipeline.model.lane import PathSource, PrebuiltFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.model.lane import Lane, Source

SCHEMA_VERSION = 1
_CLOCK_SKEW = timedelta(minutes=5)  # between two machines that both keep time


def scope_of(lane: Lane, check: str) -> str:
    """Digest of what ``lane`` promises as far as ``check`` depends on it.

    A build depends on source, recipe and compilation; an audit on the declared device code, floors and targets, on
    what is declared absent by design, on the asset's name and on this version of the rules; a smoke on how the bundle
    is served.
    """
    kind = check.partition("@")[0]
    origin = (_portable(lane.source), lane.bundle)
    if kind == "build":
        promise: tuple[object, ...] = (*origin, lane.recipe, lane.toolkit_origin, *_compilation(lane))
    elif kind == "smoke":
        promise = (lane.smoke, lane.base_image)
    elif kind == "diff":
        promise = (__version__, _previous(lane), sorted(lane.may_lose), lane.host_libraries, *_overrides(lane))
    elif kind == "load":
        promise = (lane.smoke, lane.base_image, *_overrides(lane))
    else:
        host = (lane.host_glibc, lane.host_glibcxx, lane.host_cpu, lane.host_libraries)
        floors = (lane.driver_floor, *host, lane.size_budget)
        promise = (__version__, origin, floors, _aims(lane), *_overrides(lane), *_compilation(lane))
    return hashlib.sha256(repr((check, promise)).encode()).hexdigest()


def _compilation(lane: Lane) -> tuple[object, ...]:
    return (lane.flavour, lane.platform, lane.toolkit, lane.archs, lane.compression, lane.base_image)


def _aims(lane: Lane) -> tuple[object, ...]:
    """What an audit judges; who runs the GPU and which proof suffices is no matter of the bytes."""
    return tuple((target.sm, target.driver, target.gpu) for target in lane.targets)


def _overrides(lane: Lane) -> tuple[object, ...]:
    """Which libraries may lack architectures. Sorted: the order of patterns promises nothing."""
    return (sorted(lane.by_design), sorted(lane.never_by_design))


def _previous(lane: Lane) -> object:
    """Digest of the bundle released before; where its bytes come from promises nothing."""
    return lane.previous.sha256 if lane.previous is not None else None


def _portable(source: Source) -> object:
    """The source without folders of this machine: evidence from one checkout must count in another."""
    return replace(source, path=Path(source.path.name)) if isinstance(source, PathSource | PrebuiltFile) else source


def append(directory: Path, evidence: Evidence) -> Path:
    """Write one record and return its path; ``InfrastructureError`` when the disk refuses.

    A record is newer than those that are there, whatever the clock did since: its time is moved behind theirs.
    ``CorruptInput`` when one of those is damaged.
    """
    evidence = _after(_records([directory], evidence.subject), evidence)
    folder = directory / evidence.subject / evidence.check
    text = json.dumps(_to_json(evidence), indent=1)
    nonce = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = folder / f"{evidence.finished.replace(':', '')}-{nonce}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InfrastructureError(f"cannot record evidence in {folder}: {error.strerror}") from error
    return path


def read(directories: Iterable[Path], subject: str, *, now: datetime) -> tuple[Evidence, ...]:
    """All records about ``subject``, oldest first.

    ``CorruptInput`` when one is damaged or misplaced, ``InfrastructureError`` when one cannot be read or was finished
    after ``now``: of records by clocks that disagree nobody can say which is the newest.
    """
    records = _records(directories, subject)
    if records and instant(records[-1].finished) > now + _CLOCK_SKEW:
        newest = records[-1]
        raise InfrastructureError(
            f"evidence of {newest.check} for {newest.subject[:12]} was finished at {newest.finished}, in the future",
            remedy="set the clock, or remove the record",
        )
    return records


def instant(written: str) -> datetime:
    """A time of a record; ``ValueError`` for anything but ISO 8601 with a time zone."""
    time = datetime.fromisoformat(written)
    if time.tzinfo is None:
        raise ValueError(f"{written!r} has no time zone")
    return time


def iso(time: datetime) -> str:
    """A UTC time as records have it, with microseconds."""
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _after(earlier: tuple[Evidence, ...], evidence: Evidence) -> Evidence:
    same = [instant(record.finished) for record in earlier if record.check == evidence.check]
    if not same or max(same) < instant(evidence.finished):
        return evidence
    return replace(evidence, finished=iso(max(same) + timedelta(microseconds=1)))


def _records(directories: Iterable[Path], subject: str) -> tuple[Evidence, ...]:
    records = [_load(path, subject) for directory in directories for path in _files(directory / subject)]
    return tuple(sorted(records, key=lambda record: instant(record.finished)))


def _files(subject: Path) -> Iterator[Path]:
    """Every record below ``subject``. Not with ``glob``, which passes over what it cannot read."""
    try:
        for check in sorted(subject.iterdir()) if _is_there(subject) else ():
            yield from (path for path in sorted(check.iterdir()) if path.suffix == ".json")
    except OSError as error:
        raise InfrastructureError(
            f"cannot read evidence in {subject}: {error.strerror}", remedy="make it readable, or remove it"
        ) from error


def _is_there(path: Path) -> bool:
    """Whether anything is called that; ``OSError`` when nobody can know."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _load(path: Path, subject: str) -> Evidence:
    remedy = f"remove the file, or run the check again: {path}"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InfrastructureError(f"cannot read evidence: {error.strerror}", remedy=remedy) from error
    except (ValueError, RecursionError) as error:
        raise CorruptInput("evidence is not JSON", remedy=remedy) from error
    try:
        evidence = _from_json(content)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CorruptInput(f"evidence is incomplete: {error}", remedy=remedy) from error
    if evidence.subject != subject or evidence.check != path.parent.name:
        raise CorruptInput("evidence lies under a digest or check that it is not about", remedy=remedy)
    return evidence


def _to_json(evidence: Evidence) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "evidence",
        "tool": {"name": "cubingate", "version": __version__},
        "subject": {"sha256": evidence.subject, "lane": evidence.lane},
        "check": evidence.check,
        "scope": evidence.scope,
        "outcome": evidence.outcome.to_json(),
        "machine": evidence.machine.to_json(),
        "started": evidence.started,
        "finished": evidence.finished,
        "document": evidence.document,
    }


def _from_json(content: dict[str, Any]) -> Evidence:
    if content["schema_version"] != SCHEMA_VERSION or content["kind"] != "evidence":
        raise ValueError("not evidence of this version")
    instant(content["finished"])
    outcome = content["outcome"]
    return Evidence(
        subject=str(content["subject"]["sha256"]),
        lane=str(content["subject"]["lane"]),
        check=str(content["check"]),
        scope=str(content["scope"]),
        outcome=Outcome(
            rule=str(outcome["rule"]),
            status=Status(outcome["status"]),
            examined=int(outcome["examined"]),
            reason=outcome["reason"],
        ),
        machine=Machine(**content["machine"]),
        started=str(content["started"]),
        finished=str(content["finished"]),
        document=dict(content["document"]),
    )
