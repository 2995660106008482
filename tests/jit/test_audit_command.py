"""``cubingate audit`` of a lane's JIT sources, and the check ``jit`` of a run, through the gate."""

from __future__ import annotations

import json
import shutil
import zipfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from tests import toolchain
from tests.e2e.street import Street, write_matrix
from tests.jit.test_cuda import TANH
from tests.rules.forge import Elf, build

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.network
LANE = {
    "flavour": "cuda",
    "source": "wheel",
    "driver_floor": "535",
    "targets": ["61@535.288.01", "75@535.288.01"],
    "required": ["jit@61@535.288.01", "jit@75@535.288.01"],
}
GOOD = {"language": "cuda", "files": ["kernels/*.cu"], "toolkits": ["12.6"]}
BAD = {**GOOD, "defines": {"UNGUARDED": "1"}}
SHIPPED = {**GOOD, "inside": "bundle", "files": ["product/*.cu"]}


def wheel(folder: Path) -> dict[str, str]:
    """A wheel with a source in it, and no device code."""
    path = folder / "product-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("product/gelu.cu", TANH)
        archive.writestr("product-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: product\nVersion: 1.0\n")
    return {"file": path.name, "sha256": sha256(path.read_bytes()).hexdigest()}


def lane(name: str, source: str, **settings: Any) -> dict[str, Any]:
    return {"id": name, "bundle": {"name": name, "version": "1.0"}, **LANE, "jit_sources": [source], **settings}


@pytest.fixture
def street(tmp_path: Path) -> Street:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "gelu.cu").write_text(TANH)
    lanes = [lane("good", "good"), lane("bad", "bad"), lane("shipped", "shipped"), lane("none", "good", jit_sources=[])]
    lanes[3]["required"] = ["audit"]
    street = write_matrix(
        tmp_path, lanes, sources={"wheel": wheel(tmp_path)}, jit_sources={"good": GOOD, "bad": BAD, "shipped": SHIPPED}
    )
    cache = tmp_path / ".cubingate" / "cache"
    cache.mkdir(parents=True)
    (toolchain.cache() / "jit").mkdir(exist_ok=True)
    (cache / "jit").symlink_to(toolchain.cache() / "jit")
    return street


def audit(street: Street, *words: str) -> subprocess.CompletedProcess[str]:
    return street.cubingate("audit", *words, "--matrix", "matrix.yaml")


def test_a_lane_without_path_is_an_audit_of_its_sources(street: Street) -> None:
    done = audit(street, "--lane", "bad")
    assert done.returncode == 1
    assert "FAIL     61@535.288.01" in done.stdout
    assert "PASS     75@535.288.01" in done.stdout
    assert "error jit-feature  kernels/gelu.cu:5" in done.stdout
    assert "#if __CUDA_ARCH__ >= 750" in done.stdout
    assert audit(street, "--lane", "good").returncode == 0


def test_its_document_has_the_shape_of_an_audit(street: Street) -> None:
    document = json.loads(audit(street, "--lane", "bad", "--format", "json").stdout)
    assert (document["schema_version"], document["kind"], document["artifacts"]) == (1, "audit", [])
    assert [row["verdict"] for row in document["targets"]] == ["fail", "pass"]
    assert document["targets"][0]["causes"] == ["jit-feature"]
    assert {row["rule"]: row["status"] for row in document["outcomes"]} == {
        "jit-compile": "pass",
        "jit-feature": "fail",
    }
    (refusal,) = document["jit"][0]["refusals"]
    assert (refusal["place"], refusal["first"], refusal["feature"]) == ("kernels/gelu.cu:5", "75", "tanh.approx.f32")
    assert document["jit"][1]["kernels"][0]["registers"] > 0


def test_other_targets_can_be_asked_about(street: Street) -> None:
    done = audit(street, "--lane", "bad", "--target", "80@535", "--target", "90@580")
    assert done.returncode == 0
    assert "PASS     90@580.65.06" in done.stdout


def test_sources_in_the_bundle_need_the_bundle(street: Street) -> None:
    assert audit(street, "product-1.0-py3-none-any.whl", "--lane", "shipped", "--jit").returncode == 0
    missing = audit(street, "--lane", "shipped")
    assert missing.returncode == 2
    assert "name the bundle" in missing.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 2, "name a PATH, or --matrix FILE --lane ID"),
        (("--matrix", "matrix.yaml"), 2, "exactly one --lane ID"),
        (("--matrix", "matrix.yaml", "--lane", "absent"), 2, "'absent' is not a lane"),
        (("--matrix", "matrix.yaml", "--lane", "none"), 3, "none has no jit_sources"),
    ],
)
def test_what_cannot_be_audited(street: Street, words: tuple[str, ...], status: int, said: str) -> None:
    done = street.cubingate("audit", *words)
    assert done.returncode == status
    assert said in done.stderr


def test_a_run_compiles_and_the_gate_asks_for_it(street: Street) -> None:
    done = street.cubingate("run", "--lane", "good", "--lane", "bad", "--lane", "shipped")
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    verdicts = street.verdicts()
    assert {name: verdicts[name]["verdict"] for name in ("good", "bad", "shipped")} == {
        "good": "approved",
        "bad": "refused",
        "shipped": "approved",
    }
    assert verdicts["good"]["rehearsed"] == LANE["required"]
    assert verdicts["good"]["proven"] == []
    assert verdicts["bad"]["failed"] == ["jit@61@535.288.01"]
    assert "tanh.approx.f32" in verdicts["bad"]["reasons"]["jit@61@535.288.01"]
    assert next(row["standing"] for row in verdicts["bad"]["targets"]) == "failed"


def test_a_bundle_without_device_code_is_no_cpu_flavour_where_kernels_are_compiled(street: Street) -> None:
    build(Elf("libproduct.so"), street.folder)
    compiling = audit(street, "libproduct.so", "--lane", "good")
    assert compiling.returncode == 0, compiling.stdout
    without = audit(street, "libproduct.so", "--lane", "none")
    assert without.returncode == 1
    assert "cpu-flavour" in without.stdout


def test_a_changed_source_asks_for_new_evidence(street: Street) -> None:
    assert street.cubingate("run", "--lane", "good").returncode == 0
    again = street.cubingate("run", "--lane", "good")
    assert again.stderr.count("unchanged, passed before") == 2
    (street.folder / "kernels" / "gelu.cu").write_text(TANH + "\n")
    assert street.cubingate("gate", "--lane", "good").returncode == 1
    shutil.rmtree(street.folder / "kernels")
    assert street.cubingate("gate", "--lane", "good").returncode == 2
