"""A small repository of somebody else's: a matrix.yaml in a folder, and the command run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from tests.fixture_server.builder import NAME, static_cpu_server

SERVE = ["bin/llama-server", "--host", "{host}", "--port", "{port}", "-m", "{model}"]


@dataclass(frozen=True, slots=True)
class Street:
    """One folder with a matrix.yaml; every command runs there with an empty home."""

    folder: Path

    def cubingate(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the command as a user would; what it prints is kept apart."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
        root = str(Path(__file__).resolve().parents[2])
        return subprocess.run(
            [sys.executable, "-m", "pipeline", *arguments],
            cwd=self.folder,
            env={**kept, "HOME": str(home), "PYTHONPATH": root, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=1500,
        )

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """The gate's row of each lane."""
        done = self.cubingate("gate", "--format", "json")
        return {lane["id"]: lane for lane in json.loads(done.stdout)["lanes"]}

    def change_one_byte(self, lane: str) -> None:
        """Change the byte in the middle of a lane's bundle, and nothing else."""
        (bundle,) = (self.folder / ".cubingate" / "lanes").glob(f"{lane}/*.tar.gz")
        content = bytearray(bundle.read_bytes())
        content[len(content) // 2] ^= 1
        bundle.unlink()  # it may be a link to the cached download
        bundle.write_bytes(content)

    def published(self) -> list[str]:
        """The names in ``dist/``."""
        dist = self.folder / "dist"
        return sorted(path.name for path in dist.iterdir()) if dist.is_dir() else []


def fixture_bundle(folder: Path) -> dict[str, str]:
    """The fixture server as a prebuilt bundle: a source entry of matrix.yaml."""
    bundle = folder / "fixture-1.0-linux-x86_64.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(static_cpu_server(), f"fixture-1.0/bin/{NAME}")
    return {"file": bundle.name, "sha256": sha256(bundle.read_bytes()).hexdigest()}


def write_matrix(folder: Path, lanes: list[dict[str, Any]], **sections: Any) -> Street:
    """A matrix.yaml of these lanes, each with the fixture server as its source unless it says otherwise."""
    smoke = {"fixture": {"command": SERVE, "ready_timeout": 10, "token_timeout": 3, "stop_timeout": 2}}
    matrix = {
        "version": 1,
        "bundle": {"name": "fixture", "version": "1.0"},
        "sources": {"fixture": fixture_bundle(folder)} | sections.pop("sources", {}),
        "smoke": smoke | sections.pop("smoke", {}),
        "defaults": {"platform": "x86_64", "flavour": "cpu", "source": "fixture", "smoke": "fixture", "glibc": "2.31"},
        "matrix": {"include": lanes},
        "publishers": {"dist": {"kind": "directory", "location": "dist", "partial": True}},
    }
    (folder / "matrix.yaml").write_text(yaml.safe_dump(matrix | sections, sort_keys=False), encoding="utf-8")
    return Street(folder)
