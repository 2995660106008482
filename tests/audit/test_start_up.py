"""An audit of a small file imports nothing that it does not use: start-up is most of its time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
PROGRAM = """
import sys
from pipeline.cli import run
status = run(["audit", sys.argv[1], "--target", "80@535", "--format", sys.argv[2]])
print(status, *sorted(sys.modules), file=sys.stderr)
"""
OTHER_PATHS = (
    "pipeline.matrix",
    "pipeline.model.lane",
    "pipeline.rules.declaration",
    "pipeline.rules.loader",
    "pipeline.engine",
    "pipeline.build",
    "pipeline.serve",
    "pipeline.gpu",
    "yaml",
    "rich",
    "jinja2",
    "docker",
    "requests",
    "openai",
    "numpy",
    "gguf",
    "zipfile",
    "email",
    "multiprocessing",
    "asyncio",
    "subprocess",
)


def modules(path: Path, written: str) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, written], cwd=ROOT, capture_output=True, text=True, check=True
    )
    status, *names = done.stderr.split()
    return int(status), set(names)


def test_an_audit_without_a_matrix_imports_no_other_path(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    status, text = modules(path, "text")
    assert status == 0
    assert [name for name in OTHER_PATHS if name in text] == []
    _, both = modules(path, "json")
    assert [name for name in OTHER_PATHS if name in both] == []
