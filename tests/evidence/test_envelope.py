"""Only a trusted key's signature over exactly these bytes makes a record authentic."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import CorruptInput, UsageError
from pipeline.evidence import append, read
from pipeline.evidence.envelope import keyring, signing_key
from tests.values import bundle, cpu_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.artifact import Artifact

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def key_pair(folder: Path, name: str, *, algorithm: str = "ed25519") -> tuple[Path, Path]:
    """A pair made by openssl, as a maintainer makes one."""
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    options = {"ec": ["-pkeyopt", "ec_paramgen_curve:P-256"]}.get(algorithm, [])
    subprocess.run(["openssl", "genpkey", "-algorithm", algorithm, *options, "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


def signed_record(folder: Path, private: Path) -> tuple[Artifact, Path]:
    lane = cpu_lane()
    artifact = bundle(folder, lane)
    return artifact, append(folder / "evidence", record(lane, artifact, "audit"), signing_key(private))


@pytest.mark.parametrize("algorithm", ["ed25519", "ec", "rsa"])
def test_a_trusted_key_makes_a_record_authentic(tmp_path: Path, algorithm: str) -> None:
    private, public = key_pair(tmp_path, "ours", algorithm=algorithm)
    artifact, _ = signed_record(tmp_path, private)
    (found,) = read([tmp_path / "evidence"], artifact.sha256, now=NOW, keyring=keyring([public]))
    assert found.signed_by == (signing_key(private).id,)


def test_another_key_and_no_keyring_leave_it_unauthenticated(tmp_path: Path) -> None:
    private, _ = key_pair(tmp_path, "theirs")
    _, public = key_pair(tmp_path, "ours")
    artifact, _ = signed_record(tmp_path, private)
    for ring in (keyring([public]), None):
        (found,) = read([tmp_path / "evidence"], artifact.sha256, now=NOW, keyring=ring)
        assert found.signed_by == ()


def test_a_changed_payload_under_a_trusted_name_is_corrupt(tmp_path: Path) -> None:
    private, public = key_pair(tmp_path, "ours")
    artifact, path = signed_record(tmp_path, private)
    sealed = json.loads(path.read_text())
    payload = base64.b64decode(sealed["payload"]).replace(b'"scope": "', b'"scope": "0')
    sealed["payload"] = base64.b64encode(payload).decode()
    text = json.dumps(sealed).encode()
    path.unlink()
    path.with_name(f"forged-{hashlib.sha256(text).hexdigest()[:16]}.json").write_bytes(text)
    with pytest.raises(CorruptInput, match="does not fit"):
        read([tmp_path / "evidence"], artifact.sha256, now=NOW, keyring=keyring([public]))


def test_an_envelope_around_something_else_is_corrupt(tmp_path: Path) -> None:
    private, _ = key_pair(tmp_path, "ours")
    artifact, path = signed_record(tmp_path, private)
    text = path.read_bytes().replace(b"vnd.in-toto", b"vnd.wishes")
    path.unlink()
    path.with_name(f"x-{hashlib.sha256(text).hexdigest()[:16]}.json").write_bytes(text)
    with pytest.raises(CorruptInput, match="an envelope around"):
        read([tmp_path / "evidence"], artifact.sha256, now=NOW)


def test_what_is_no_key_is_a_mistake_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "rubbish").write_text("rubbish")
    private, public = key_pair(tmp_path, "ours")
    for wrong in (tmp_path / "rubbish", tmp_path / "absent", public):
        with pytest.raises(UsageError):
            signing_key(wrong)
    for wrong in (tmp_path / "rubbish", tmp_path / "absent", private):
        with pytest.raises(UsageError):
            keyring([wrong])
