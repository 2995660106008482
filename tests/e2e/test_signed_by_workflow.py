"""Evidence that a workflow signed as itself, from the command line: approved, by a stranger refused, edited corrupt."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.street import Street, write_matrix
from tests.evidence.sigstore_service import GITHUB, WORKFLOW, Service, Signer

if TYPE_CHECKING:
    from pathlib import Path

SERVICE = Service()


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Street:
    folder = tmp_path_factory.mktemp("street")
    SERVICE.trusted_root(folder / "root.json")
    identity = {"identity": WORKFLOW.replace("v1", "*"), "issuer": GITHUB}
    terms = {"signed": "required", "sigstore": [identity], "trusted_root": "root.json"}
    made = write_matrix(folder, [{"id": "cpu"}], evidence=terms)
    assert made.cubingate("run").returncode == 1, "nobody has signed anything yet"
    return made


def attest(street: Street, signer: Signer) -> Path:
    """What the workflow's step leaves behind."""
    (subject,) = (street.folder / ".cubingate/evidence").iterdir()
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in subject.glob("*/*.json")]
    said = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "record", "digest": {"sha256": digest}} for digest in digests],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {},
    }
    path = subject / "job.sigstore.json"
    path.write_text(json.dumps(SERVICE.statement(json.dumps(said).encode(), signer)))
    return path


def test_the_workflow_that_made_the_evidence_signs_it(street: Street) -> None:
    attest(street, Signer())
    done = street.cubingate("gate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert street.cubingate("publish").returncode == 0
    assert "SHA256SUMS" in street.published()


def test_another_workflow_is_refused_by_name(street: Street) -> None:
    attest(street, Signer(identity=WORKFLOW.replace("acme", "evil")))
    done = street.cubingate("gate", "--explain", "cpu")
    assert done.returncode == 1
    assert "signed by nobody who is trusted, but by https://github.com/evil/server" in " ".join(done.stdout.split())


def test_an_edited_bundle_stops_the_publication(street: Street) -> None:
    path = attest(street, Signer())
    path.write_text(path.read_text().replace('"tlogEntries"', '"tlogOmitted"'))
    for command in ("gate", "publish"):
        done = street.cubingate(command)
        assert done.returncode == 5
        assert "sigstore bundle does not verify" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_signatures_travel_between_jobs_with_what_they_sign(street: Street, tmp_path: Path) -> None:
    attest(street, Signer())
    sealed = street.cubingate("workflow", "--seal", "lane-cpu")
    assert sealed.returncode == 0, sealed.stderr
    name, _, digest = sealed.stdout.strip().partition("=")
    for path in (path for path in street.folder.iterdir() if path.is_file()):
        shutil.copy(path, tmp_path)
    arrived = Street(tmp_path)
    shutil.copytree(street.folder / ".cubingate/sealed/lane-cpu", tmp_path / ".cubingate")
    outputs = json.dumps({name: digest})
    unsealed = arrived.cubingate("workflow", "--unseal", "BUILT", BUILT=outputs)
    assert unsealed.returncode == 0, unsealed.stderr
    done = arrived.cubingate("gate")
    assert done.returncode == 0, done.stdout + done.stderr
    (subject,) = (tmp_path / ".cubingate/evidence").iterdir()
    (subject / "more.sigstore.json").write_bytes((subject / "job.sigstore.json").read_bytes())
    assert arrived.cubingate("workflow", "--unseal", "BUILT", BUILT=outputs).returncode == 5


def test_what_is_no_signature_is_not_carried(street: Street) -> None:
    stray = attest(street, Signer()).with_name("job.json")
    stray.write_text("{}")
    done = street.cubingate("workflow", "--seal", "lane-cpu")
    stray.unlink()
    assert done.returncode == 0
    carried = {path.name for path in (street.folder / ".cubingate/sealed/lane-cpu").rglob("*.json")}
    assert "job.sigstore.json" in carried
    assert "job.json" not in carried


def test_a_root_that_is_none_is_a_mistake(street: Street) -> None:
    root = street.folder / "root.json"
    kept = root.read_bytes()
    root.write_bytes(b"{}")
    done = street.cubingate("gate")
    root.write_bytes(kept)
    assert done.returncode == 2
    assert "no trusted root" in done.stderr
