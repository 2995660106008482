"""Bundles of the fixture server whose outcome on one GPU differs, and what is foreseen of each.

    python -m tests.fixture_server.bundles --target 90@580.159.04 --out FOLDER [--also BUNDLE] [--to-come NAME=ERROR]

writes the bundles and ``expectations.json``: what ``audit`` says of each and what ``load`` and ``smoke`` will end with.
``--also`` adds a bundle that is there, ``--to-come`` one that will be built on the machine with the GPU.
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


def foreseen(path: Path, target: Target, policy: Policy) -> dict[str, Any]:
    """The audit's verdict for the target, and the statuses that ``load`` and ``smoke`` then have to end with."""
    judged = run_audit([path], [target], policy).targets[0]
    return row(path.name, file_sha256(path), list(judged.errors) if judged.verdict != "pass" else [])


def row(name: str, sha256: str | None, errors: list[str]) -> dict[str, Any]:
    """``load`` and ``smoke`` pass where the audit does, and fail where it fails."""
    verdict, status = ("fail", 1) if errors else ("pass", 0)
    audit = {"verdict": verdict, "errors": errors}
    return {"bundle": name, "sha256": sha256, "audit": audit, "load_status": status, "smoke_status": status}


def main() -> int:
    """Build all of them and write down what is to come."""
    parser = argparse.ArgumentParser(description="bundles of the fixture server, with what is foreseen of them")
    parser.add_argument("--target", required=True, help="SM@DRIVER of the machine to come")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--also", type=Path, action="append", default=[])
    parser.add_argument("--to-come", metavar="NAME=ERROR", action="append", default=[])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    policy = load_policy()
    target = policy.parse_target(arguments.target)
    bundles = [*(pack(recipe, arguments.out) for recipe in RECIPES), *arguments.also]
    rows = [foreseen(bundle, target, policy) for bundle in bundles]
    rows += [row(name, None, [error]) for name, _, error in (text.partition("=") for text in arguments.to_come)]
    document = {"kind": "bundle-expectations", "target": target.label, "tool": __version__, "bundles": rows}
    (arguments.out / "expectations.json").write_text(json.dumps(document, indent=1) + "\n")
    for said in rows:
        sys.stdout.write(f"{said['bundle']}: {said['audit']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
