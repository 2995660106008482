"""Bundles of the fixture server whose outcome on one GPU differs, and what is foreseen of each.

    python -m tests.fixture_server.bundles --target 90@580.159.04 --out FOLDER

writes the bundles and ``expectations.json``: what ``audit`` says of each and what ``load`` and ``smoke`` will end with.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.audit import run_audit
from pipeline.digest import file_sha256
from pipeline.policy import load_policy
from tests.fixture_server import builder

if TYPE_CHECKING:
    from pipeline.model.lane import Target
    from pipeline.policy import Policy


@dataclass(frozen=True, slots=True)
class Recipe:
    """One bundle: the toolkit that makes it and the device code that it carries."""

    toolkit: str
    archs: str
    gencode: str

    @property
    def name(self) -> str:
        return f"fixture-cuda{self.toolkit.rpartition('.')[0]}-{self.archs}"


RECIPES = (
    Recipe("13.0.2", "90-real", "arch=compute_90,code=sm_90"),
    Recipe("13.0.2", "80-virtual", "arch=compute_80,code=compute_80"),
    Recipe("13.1.1", "90-real", "arch=compute_90,code=sm_90"),
    Recipe("13.1.1", "80-virtual", "arch=compute_80,code=compute_80"),
    Recipe("13.0.2", "89-real", "arch=compute_89,code=sm_89"),
    Recipe("13.5.0", "90-real", "arch=compute_90,code=sm_90"),
    Recipe("13.5.0", "80-virtual", "arch=compute_80,code=compute_80"),
)


def pack(recipe: Recipe, folder: Path) -> Path:
    """The bundle as a lane packs one: one folder, ``bin/llama-server``."""
    server = builder.cuda_server([recipe.gencode], release=recipe.toolkit)
    path = folder / f"{recipe.name}.tar.gz"
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,  # the same bytes every time
        tarfile.open(mode="w", fileobj=packed) as archive,
    ):
        content = server.read_bytes()
        info = tarfile.TarInfo(f"{recipe.name}/bin/{builder.NAME}")
        info.size, info.mode = len(content), 0o755
        archive.addfile(info, io.BytesIO(content))
    return path


def foreseen(recipe: Recipe, path: Path, target: Target, policy: Policy) -> dict[str, Any]:
    """The audit's verdict for the target, and the statuses that ``load`` and ``smoke`` then have to end with."""
    judged = run_audit([path], [target], policy).targets[0]
    status = 0 if judged.verdict == "pass" else 1
    return {
        "bundle": path.name,
        "sha256": file_sha256(path),
        "toolkit": recipe.toolkit,
        "archs": recipe.archs,
        "audit": {"verdict": str(judged.verdict), "errors": list(judged.errors)},
        "load_status": status,
        "smoke_status": status,
    }


def main() -> int:
    """Build all of them and write down what is to come."""
    parser = argparse.ArgumentParser(description="bundles of the fixture server, with what is foreseen of them")
    parser.add_argument("--target", required=True, help="SM@DRIVER of the machine to come")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    policy = load_policy()
    target = policy.parse_target(arguments.target)
    rows = [foreseen(recipe, pack(recipe, arguments.out), target, policy) for recipe in RECIPES]
    document = {"kind": "bundle-expectations", "target": target.label, "tool": __version__, "bundles": rows}
    (arguments.out / "expectations.json").write_text(json.dumps(document, indent=1) + "\n")
    for row in rows:
        sys.stdout.write(f"{row['bundle']}: {row['audit']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
