"""A lane may declare which libraries choose between architectures themselves; the report and the gate tell of it."""

from __future__ import annotations

import json
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pipeline.evidence.statement import evidence_of
from tests.e2e.street import Street, write_matrix
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network

TARGET = "100@570.86.10"
LANE = {
    "flavour": "cuda",
    "source": "kernels",
    "driver_floor": "570.86.10",
    "targets": [TARGET],
    "required": ["audit"],
}


def with_attention(folder: Path) -> dict[str, str]:
    """General kernels for every GPU, and attention kernels for two of them, as serving packages ship them."""
    root = folder / "fixture"
    build(Elf("libk.so", [container("12.8", "80 90 100")] * 3), root / "lib")
    build(Elf("libattention_3.so", [container("12.8", "80 90a")] * 2), root / "lib")
    bundle = folder / "kernels-1.0-linux-x86_64.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(root, "kernels-1.0")
    return {"file": bundle.name, "sha256": sha256(bundle.read_bytes()).hexdigest()}


def lane(name: str, **settings: Any) -> dict[str, Any]:
    return {"id": name, "bundle": {"name": name, "version": "1.0"}, **LANE, **settings}


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Street:
    folder = tmp_path_factory.mktemp("by-design")
    lanes = [
        lane("counted"),
        lane("declared", by_design=["libattention_*.so"]),
        lane("misnamed", by_design=["libatention_*.so"]),
        lane("strict", never_by_design=["libabsent.so"], targets=["90@570.86.10"]),
    ]
    street = write_matrix(folder, lanes, sources={"kernels": with_attention(folder)})
    done = street.cubingate("run")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return street


def test_a_gap_is_refused_unless_the_lane_declares_it(street: Street) -> None:
    verdicts = street.verdicts()
    assert {name: row["verdict"] for name, row in verdicts.items()} == {
        "counted": "refused",
        "declared": "approved",
        "misnamed": "refused",
        "strict": "refused",
    }
    assert "arch-missing" in verdicts["counted"]["reasons"]["audit"]
    assert "never_by_design" not in verdicts["counted"]["reasons"]["audit"]


def test_the_report_says_that_the_override_was_used(street: Street) -> None:
    done = street.cubingate("audit", "kernels-1.0-linux-x86_64.tar.gz", "--matrix", "matrix.yaml", "--lane", "declared")
    assert done.returncode == 0
    assert "note[arch-missing] x2 excused by the lane: sm_80, sm_90a: nothing that sm_100 can run" in done.stdout
    assert "  declared  by_design: libattention_*.so" in done.stdout.splitlines()
    assert f"PASS     {TARGET}  3 native, 2 absent by design of 5 fatbins" in done.stdout


def test_the_evidence_keeps_it(street: Street) -> None:
    (record,) = (
        record
        for path in (street.folder / ".cubingate" / "evidence").glob("*/audit/*.json")
        if (record := evidence_of(json.loads(path.read_text()))).lane == "declared"
    )
    notes = [item for item in record.document["findings"] if item["severity"] == "note"]
    assert [(item["declared"], item["count"], item["targets"]) for item in notes] == [
        ("by_design: libattention_*.so", 2, [TARGET])
    ]


def test_a_pattern_that_names_nothing_is_told(street: Street) -> None:
    done = street.cubingate("audit", "kernels-1.0-linux-x86_64.tar.gz", "--matrix", "matrix.yaml", "--lane", "misnamed")
    assert done.returncode == 1
    assert "warning[arch-missing] no library of that name with device code" in done.stdout
    done = street.cubingate("audit", "kernels-1.0-linux-x86_64.tar.gz", "--matrix", "matrix.yaml", "--lane", "strict")
    assert done.returncode == 1
    assert "  declared  never_by_design: libabsent.so" in done.stdout.splitlines()


def test_another_override_asks_for_new_evidence(street: Street) -> None:
    """Last in the file: it changes what the others look at."""
    path = street.folder / "matrix.yaml"
    before = path.read_text(encoding="utf-8")
    content = yaml.safe_load(before)
    content["matrix"]["include"][1]["by_design"].append("libk.so")
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    try:
        row = street.verdicts()["declared"]
    finally:
        path.write_text(before, encoding="utf-8")
    assert (row["verdict"], row["missing"]) == ("refused", ["audit"])
