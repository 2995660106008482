"""A lane that names the bundle released before is refused when it lost something, and says what."""

from __future__ import annotations

import json
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.evidence.statement import evidence_of
from tests.e2e.street import Street, write_matrix
from tests.rules.cases import FIRST, SECOND, image
from tests.rules.forge import Elf, build, container, pack

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network

LANE = {"flavour": "cuda", "driver_floor": "570.86.10", "targets": ["90@570.86.10"]}


def bundle(folder: Path, name: str, content: bytes) -> dict[str, str]:
    build(Elf("libk.so", [content]), folder / name / "lib")
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder / name, name)
    return {"file": path.name, "sha256": sha256(path.read_bytes()).hexdigest()}


def lane(name: str, source: str, **settings: Any) -> dict[str, Any]:
    required = {"required": ["audit", "diff"]} if "previous" in settings else {"required": ["audit"]}
    return {"id": name, "source": source, "bundle": {"name": name, "version": "1.0"}, **LANE, **required, **settings}


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Street:
    folder = tmp_path_factory.mktemp("previous")
    kernels = [image("80", FIRST, SECOND), image("90", FIRST, SECOND)]
    sources = {
        "before": bundle(folder, "k-1.0", pack(kernels, "12.8", "lz4")),
        "same": bundle(folder, "k-1.1", pack(kernels, "12.8", "lz4")),
        "fewer": bundle(folder, "k-1.2", container("12.8", "90")),
        "elsewhere": {"file": "k-1.0.tar.gz", "sha256": 64 * "0"},
    }
    lanes = [
        lane("alone", "same"),
        lane("whole", "same", previous="before"),
        lane("lossy", "fewer", previous="before"),
        lane("meant", "fewer", previous="before", may_lose=["arch-lost", "kernel-gone"]),
        lane("mispinned", "same", previous="elsewhere"),
    ]
    street = write_matrix(folder, lanes, sources=sources)
    done = street.cubingate("run")
    assert "Traceback" not in done.stderr
    assert done.returncode == 5, done.stderr
    return street


@pytest.fixture(scope="module")
def verdicts(street: Street) -> dict[str, dict[str, Any]]:
    return street.verdicts()


def test_what_lost_nothing_is_approved_by_what_the_bytes_show(verdicts: dict[str, dict[str, Any]]) -> None:
    assert verdicts["alone"]["verdict"] == verdicts["whole"]["verdict"] == "approved"
    assert verdicts["whole"]["inferred"] == ["audit", "diff"]


def test_what_lost_something_is_refused_and_told(verdicts: dict[str, dict[str, Any]]) -> None:
    assert verdicts["lossy"]["verdict"] == "refused"
    assert verdicts["lossy"]["failed"] == ["diff"]
    assert verdicts["lossy"]["reasons"]["diff"].startswith("arch-lost: sm_80")


def test_what_is_meant_to_be_lost_is_approved_and_on_record(
    street: Street, verdicts: dict[str, dict[str, Any]]
) -> None:
    assert verdicts["meant"]["verdict"] == "approved"
    records = street.folder.glob(f".cubingate/evidence/{verdicts['meant']['sha256']}/diff/*.json")
    found = [evidence_of(json.loads(path.read_text())) for path in records]
    outcomes = {
        outcome["rule"]: outcome["status"]
        for record in found
        if record.lane == "meant"
        for outcome in record.document["outcomes"]
    }
    assert outcomes["arch-lost"] == outcomes["kernel-gone"] == "waived"


def test_a_previous_bundle_that_is_not_the_pinned_one_is_an_error(verdicts: dict[str, dict[str, Any]]) -> None:
    assert verdicts["mispinned"]["verdict"] == "refused"
    assert "diff" in verdicts["mispinned"]["failed"]


def test_the_check_is_required_unless_the_lane_says_otherwise(street: Street) -> None:
    lanes = [
        {"id": "asked", **LANE, "source": "same", "previous": "before"},
        {"id": "built", **LANE, "source": "same", "previous": "tree"},
        {"id": "vague", **LANE, "source": "same", "previous": "before", "may_lose": ["everything"]},
    ]
    folder = street.folder / "mistakes"
    folder.mkdir()
    sources = {name: {"file": f"../{name}.tar.gz", "sha256": 64 * "0"} for name in ("before", "same")}
    other = write_matrix(folder, lanes[:1], sources=sources)
    planned = json.loads(other.cubingate("plan", "--format", "json").stdout)["lanes"]
    assert planned[0]["required"] == ["audit", "diff", "load@90@570.86.10", "smoke@90@570.86.10"]
    done = write_matrix(folder, lanes, sources={**sources, "tree": {"path": "."}}).cubingate("plan")
    assert done.returncode == 2
    assert "'previous' is a source to build" in done.stderr
    assert "'everything' is not a rule of a comparison" in done.stderr


def test_the_page_tells_what_became_of_the_last_release(street: Street) -> None:
    done = street.cubingate("gate", "--format", "html")
    text = done.stdout
    assert text.count("sm_80, sm_86, sm_89: 525.60.13 → no driver") == 2
    assert "kernel-gone</span> first, second is gone" in text
    assert "~ allowed</span> arch-lost, kernel-gone" in text
    assert "2 kernels in 2 groups, all of them for each of sm_80, sm_90" in text
    assert str(street.folder) not in text
