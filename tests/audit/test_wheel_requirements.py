"""Libraries that a wheel leaves to its requirements, alone and inside an archive; an extra's are a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit.run import run_audit
from pipeline.model.finding import Severity
from pipeline.policy import load_policy
from tests.formats.artifacts import zip_of
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network
POLICY = load_policy()
REQUIRED = "nvidia-nccl-cu12>=2.20"
EXTRA = REQUIRED + ' ; extra == "gpu"'


def made(requires: str, folder: Path, *, nested: bool) -> Path:
    elf = Elf("libk.so", [container("12.8", "80")], needed=["libnccl.so.2"])
    metadata = f"Metadata-Version: 2.1\nName: k\nVersion: 1.0\nRequires-Dist: {requires}\n"
    files = {
        "k/libk.so": build(elf, folder).read_bytes(),
        "k-1.0.dist-info/METADATA": metadata.encode(),
        "k-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\n",
    }
    name, content = "k-1.0-py3-none-any.whl", zip_of(files)
    path = folder / ("bundle.zip" if nested else name)
    path.write_bytes(zip_of({f"wheels/{name}": content}) if nested else content)
    return path


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("requires", "verdict", "severity"),
    [(REQUIRED, "pass", None), (EXTRA, "pass", Severity.WARNING), ("numpy", "fail", Severity.ERROR)],
)
def test_what_is_required_is_there(
    requires: str, verdict: str, severity: Severity | None, tmp_path: Path, *, nested: bool
) -> None:
    report = run_audit([made(requires, tmp_path, nested=nested)], [POLICY.parse_target("80@570")], POLICY)
    found = [item.severity for item in report.findings if item.rule == "needed-library" and "libnccl" in item.observed]
    assert found == ([] if severity is None else [severity])
    assert report.targets[0].verdict == verdict
