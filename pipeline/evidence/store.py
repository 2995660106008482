"""Records in folders. Layout: ``DIR/<sha256 of the bundle>/<check>/<finished>-<digest of the file>.json``.

Sigstore bundles about them lie beside a record, or in the folder of the bundle that the records are about.

Reading checks that each record is about the digest it lies under, complete, and byte for byte what was written; one
that is not is ``CorruptInput``, never ignored. A folder that cannot be read is no absence of evidence: what it
holds may be the newest failure.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.evidence import envelope
from pipeline.evidence.attestations import Attestations, is_attestation, refuse_orphans
from pipeline.evidence.content import content_of
from pipeline.evidence.statement import evidence_of, instant, iso, statement
from pipeline.evidence.witness import WrongSignature
from pipeline.model.finding import Status
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from pipeline.evidence.envelope import Keyring, SigningKey
    from pipeline.model.evidence import Evidence

_CLOCK_SKEW = timedelta(minutes=5)  # between two machines that both keep time
_LARGEST = 64 << 20  # bytes of one record: a load of tens of thousands of containers has some ten million
_SUBJECT = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MARK = 16  # digits of the file's digest in its name


def append(directory: Path, evidence: Evidence, key: SigningKey | None = None) -> Path:
    """Write one record, signed where there is a key, and return its path; ``InfrastructureError`` if the disk refuses.

    A record is newer than those that are there, whatever the clock did since: its time is moved behind theirs.
    ``CorruptInput`` when one of those is damaged.
    """
    evidence = _after(_records([directory], evidence.subject, None), evidence)
    folder = directory / evidence.subject / evidence.check
    content = json.dumps(statement(evidence), indent=1).encode()
    content = content if key is None else envelope.signed(content, key)
    path = folder / f"{evidence.finished.replace(':', '')}-{_mark(content)}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise InfrastructureError(f"cannot record evidence in {folder}: {error.strerror}") from error
    return path


def read(
    directories: Iterable[Path], subject: str, *, now: datetime, keyring: Keyring | None = None
) -> tuple[Evidence, ...]:
    """All records about ``subject``, oldest first; of several at one instant those that did not pass come last.

    ``keyring`` tells who signed what. ``CorruptInput`` when a record is damaged, edited, misplaced or carries a
    signature that does not fit; ``InfrastructureError`` when one cannot be read, or was finished after ``now`` or
    before it was begun: of records by clocks that disagree nobody can say which is the newest.
    """
    records = _records(directories, subject, keyring)
    for record in records:
        what = f"evidence of {record.check} for {record.subject[:12]} was finished at {record.finished}"
        if instant(record.finished) > now + _CLOCK_SKEW:
            raise InfrastructureError(f"{what}, in the future", remedy="set the clock, or remove the record")
        if instant(record.started) > instant(record.finished) + _CLOCK_SKEW:
            why = f"{what}, and begun at {record.started}: the clock jumped"
            raise InfrastructureError(why, remedy="remove the record, and run the check again")
    return records


def check_directory(directory: Path) -> None:
    """``UsageError`` for one that is none, or holds anything but folders named for bundles.

    Nobody would look at what lies deeper, and it may be the newest failure.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory")
    for path in _listed(directory):
        if not _SUBJECT.fullmatch(path.name):
            raise UsageError(
                f"{directory} is no directory of evidence: it holds {printable(path.name)}",
                remedy="name the one whose folders are called by a SHA-256, such as STATE/evidence",
            )


def _mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_MARK]


def _after(earlier: tuple[Evidence, ...], evidence: Evidence) -> Evidence:
    same = [instant(record.finished) for record in earlier if record.check == evidence.check]
    if not same or max(same) < instant(evidence.finished):
        return evidence
    return replace(evidence, finished=iso(max(same) + timedelta(microseconds=1)))


def _records(directories: Iterable[Path], subject: str, keyring: Keyring | None) -> tuple[Evidence, ...]:
    records = [record for directory in directories for record in _folder(directory / subject, keyring)]
    return tuple(sorted(records, key=_age))


def _folder(subject: Path, keyring: Keyring | None) -> Iterator[Evidence]:
    """The records of one folder, with what is attested there about them."""
    places = _listed(subject)
    about = Attestations.read(filter(is_attestation, places), keyring.bundles if keyring is not None else None)
    for check in places:
        if is_attestation(check):
            continue
        files = _listed(check)
        refuse_orphans(files)
        for path in files:
            if path.suffix == ".json" and not is_attestation(path):
                yield _load(path, subject.name, keyring, about)


def _age(record: Evidence) -> tuple[datetime, bool]:
    return instant(record.finished), record.outcome.status is not Status.PASS


def _listed(folder: Path) -> list[Path]:
    """What is in ``folder``. Not with ``glob``, which passes over what it cannot read."""
    try:
        return sorted(folder.iterdir()) if _is_there(folder) else []
    except OSError as error:
        raise InfrastructureError(
            f"cannot read evidence in {folder}: {error.strerror}", remedy="make it readable, or remove it"
        ) from error


def _is_there(path: Path) -> bool:
    """Whether anything is called that; ``OSError`` when nobody can know."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _load(path: Path, subject: str, keyring: Keyring | None, about: Attestations) -> Evidence:
    remedy = f"remove the file, and run the check again: {path}"
    content = _content(path, remedy)
    witnesses = about.witnesses(path, hashlib.sha256(content).hexdigest())
    try:
        statement, inside = envelope.opened(content, keyring)
        evidence = evidence_of(statement, (*inside, *witnesses))
    except WrongSignature as error:
        raise CorruptInput(str(error), remedy=remedy) from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptInput(f"evidence is damaged or incomplete: {error}", remedy=remedy) from error
    if evidence.subject != subject or evidence.check != path.parent.name:
        raise CorruptInput("evidence lies under a digest or check that it is not about", remedy=remedy)
    return evidence


def _content(path: Path, remedy: str) -> bytes:
    """The bytes of a record, which its name must fit."""
    content = content_of(path, "evidence", _LARGEST, remedy)
    if path.stem.rpartition("-")[2] != _mark(content):
        raise CorruptInput("evidence was edited after it was written", remedy=remedy)
    return content
