"""The gate reads every directory of evidence that it is given, and leaves nothing behind."""

from __future__ import annotations

import json
import shutil
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from tests.e2e.street import write_matrix
from tests.evidence.spoil import rewritten
from tests.fixture_server.builder import static_cpu_server

if TYPE_CHECKING:
    from pathlib import Path


def test_a_gate_over_nothing_writes_nothing(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    done = street.cubingate("gate")
    assert done.returncode == 1, done.stderr
    assert "not built" in done.stdout
    assert not (tmp_path / ".cubingate").exists()


def test_a_bundle_whose_records_came_from_elsewhere_is_judged_by_them(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("run").returncode == 0
    shutil.move(tmp_path / ".cubingate" / "evidence", tmp_path / "elsewhere")
    assert street.cubingate("gate").returncode == 1
    assert street.cubingate("gate", "--evidence", "elsewhere").returncode == 0
    (record,) = (tmp_path / "elsewhere").glob("*/audit/*.json")
    shutil.rmtree(record.parent)
    record.parent.symlink_to("audit")
    done = street.cubingate("gate", "--evidence", "elsewhere")
    assert done.returncode == 4, done.stdout
    assert "cannot read evidence" in done.stdout


@pytest.mark.parametrize("inside", ["evidence", ".cubingate/evidence"])
def test_a_failure_that_lies_deeper_than_anybody_looks_is_not_passed_over(tmp_path: Path, inside: str) -> None:
    """Such as in the state folder of another machine, named instead of its evidence."""
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("run").returncode == 0
    (tmp_path / "job" / inside).parent.mkdir(parents=True)
    shutil.copytree(tmp_path / ".cubingate" / "evidence", tmp_path / "job" / inside)
    (record,) = (tmp_path / "job" / inside).glob("*/audit/*.json")
    failed = {"status": "fail", "reason": "it broke"}
    rewritten(record, lambda content: content["predicate"]["outcome"].update(failed))
    assert street.cubingate("gate", "--evidence", f"job/{inside}").returncode == 1
    done = street.cubingate("gate", "--evidence", "job")
    assert done.returncode == 2, done.stdout
    assert "is no directory of evidence" in done.stderr


def test_a_damaged_record_refuses_its_own_lane_only(tmp_path: Path) -> None:
    lanes = [{"id": name, "bundle": {"name": name, "version": "1"}} for name in ("one", "two")]
    sources = {"other": _another_bundle(tmp_path)}
    lanes[1]["source"] = "other"
    street = write_matrix(tmp_path, lanes, sources=sources)
    assert street.cubingate("run").returncode == 0
    digest = street.verdicts()["two"]["sha256"]
    (record,) = (tmp_path / ".cubingate" / "evidence" / digest / "audit").glob("*.json")
    record.write_text("{")
    done = street.cubingate("gate", "--format", "json")
    assert done.returncode == 5
    rows = {row["id"]: row for row in json.loads(done.stdout)["lanes"]}
    assert rows["one"]["verdict"] == "approved"
    assert rows["two"]["verdict"] == "refused"
    assert "not judged: evidence was edited" in rows["two"]["reasons"]["audit"]
    assert street.cubingate("run").returncode == 5


def _another_bundle(folder: Path) -> dict[str, str]:
    """The fixture server packed once more, under another digest."""
    bundle = folder / "other.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(static_cpu_server(), "other/bin/llama-server")
    return {"file": bundle.name, "sha256": sha256(bundle.read_bytes()).hexdigest()}


def test_a_state_folder_without_a_name_is_status_2(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("clean", "--state", "").returncode == 2
    assert (tmp_path / "matrix.yaml").exists()
