"""A street without engines or GPUs, and a key that its records may be signed with."""

from __future__ import annotations

import io
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pipeline.build.settings import BuildSettings, Network
from pipeline.evidence.envelope import Keyring, SigningKey, keyring, signing_key
from pipeline.report.progress import Talk
from pipeline.resources import find_resources
from pipeline.stages.street import Engines, Street
from tests.values import ORIGIN

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def street(tmp_path: Path) -> Street:
    return Street(
        state=tmp_path,
        evidence=tmp_path / "evidence",
        talk=Talk(io.StringIO(), {}),
        clock=lambda: NOW,
        environment={},
        engines=Engines({}),
        build=BuildSettings(find_resources(beside=tmp_path), Network(), 0),
        gpus=lambda: (),
        origin=ORIGIN,
    )


@pytest.fixture
def keys(tmp_path: Path) -> tuple[SigningKey, Keyring]:
    pytest.importorskip("securesystemslib")
    for argv in (
        ("genpkey", "-algorithm", "ed25519", "-out", "key.pem"),
        ("pkey", "-in", "key.pem", "-pubout", "-out", "key.pub"),
    ):
        subprocess.run(["openssl", *argv], cwd=tmp_path, check=True)
    return signing_key(tmp_path / "key.pem"), keyring([tmp_path / "key.pub"])
