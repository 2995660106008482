"""The record of a build: made anew where it does not count, of the very bytes that were built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline import evidence as records
from pipeline.errors import InfrastructureError
from pipeline.stages.renewal import renew_record
from tests.stages.test_check import court
from tests.values import bundle, cpu_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.evidence.envelope import Keyring, SigningKey
    from pipeline.model.artifact import Artifact
    from pipeline.stages.gate import Court
    from pipeline.stages.street import Street

LANE = cpu_lane()


def built(folder: Path, street: Street) -> Artifact:
    artifact = bundle(folder, LANE)
    records.append(street.evidence, record(LANE, artifact, "build"))
    return artifact


def signed_by(judging: Court, artifact: Artifact) -> list[tuple[str, ...]]:
    return [found.signed_by for found in judging.evidence(artifact.sha256)]


def test_a_build_that_nobody_signed_is_signed_without_building_again(
    tmp_path: Path,
    street: Street,
    keys: tuple[SigningKey, Keyring],
) -> None:
    (key, ring), artifact = keys, built(tmp_path, street)
    terms = {"signed": True, "keys": (tmp_path / "key.pub",)}
    renew_record(LANE, artifact, court(street, ring, **terms))
    signing = court(replace(street, signing=key), ring, **terms)
    assert signed_by(signing, artifact) == [()], "without a key another would be unsigned too"
    renew_record(LANE, artifact, signing)
    renew_record(LANE, artifact, signing)
    assert signed_by(signing, artifact) == [(), (key.id,)]
    before, after = signing.evidence(artifact.sha256)
    assert after.started == before.started, "when it was built is not when it was signed"


def test_a_build_by_a_key_that_nobody_trusts_stays_as_it_is(
    tmp_path: Path,
    street: Street,
    keys: tuple[SigningKey, Keyring],
) -> None:
    artifact = built(tmp_path, street)
    stranger = court(replace(street, signing=keys[0]), None, signed=True)
    renew_record(LANE, artifact, stranger)
    assert signed_by(stranger, artifact) == [()]


def test_bytes_that_changed_since_they_were_built_are_not_signed(
    tmp_path: Path,
    street: Street,
    keys: tuple[SigningKey, Keyring],
) -> None:
    (key, ring), artifact = keys, built(tmp_path, street)
    artifact.path.write_bytes(b"other")
    signing = court(replace(street, signing=key), ring, signed=True, keys=(tmp_path / "key.pub",))
    with pytest.raises(InfrastructureError, match="is not what was built"):
        renew_record(LANE, artifact, signing)
    assert signed_by(signing, artifact) == [()]


def test_what_was_never_built_here_is_not_put_on_record(
    tmp_path: Path,
    street: Street,
    keys: tuple[SigningKey, Keyring],
) -> None:
    (key, ring), artifact = keys, bundle(tmp_path, LANE)
    signing = court(replace(street, signing=key), ring, signed=True, keys=(tmp_path / "key.pub",))
    renew_record(LANE, artifact, signing)
    assert signed_by(signing, artifact) == []
