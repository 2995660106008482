"""The gate reads every directory of evidence that it is given, and leaves nothing behind."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.e2e.street import write_matrix

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
    assert "cannot read evidence" in done.stderr
