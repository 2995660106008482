"""Bundles whose outcome was foreseen, through ``load`` and ``smoke`` on the machine with the GPU.

    python -m tests.gpu.bundles_run FOLDER... --expectations expectations.json --out DIR

ends with 1 when one did something else. Bundles that are in no folder are left for another call.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pipeline.digest import file_sha256
from tests.gpu.damage_run import command


def main() -> int:
    """Try each bundle that is there."""
    parser = argparse.ArgumentParser(description="bundles against what was foreseen of them")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--expectations", type=Path, required=True)
    parser.add_argument("--smoke", default="--device cuda", help="the words of a smoke after its path")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    expected = json.loads(arguments.expectations.read_text())
    there = {path.name: path for folder in arguments.folders for path in folder.glob("*.tar.gz")}
    rows = [
        tried(there[row["bundle"]], row, arguments.smoke.split())
        for row in expected["bundles"]
        if row["bundle"] in there
    ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    document = {"kind": "bundles", "predicted_for": expected["target"], "bundles": rows}
    (arguments.out / "bundles.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0 if rows and all(row["as_foreseen"] for row in rows) else 1


def tried(path: Path, expected: dict[str, Any], smoke: list[str]) -> dict[str, Any]:
    """What came of one, beside what was foreseen: the statuses, and the error's name where there is one."""
    digest = file_sha256(path)
    loaded, smoked = command(["load", str(path)]), command(["smoke", str(path), *smoke])
    errors = expected["audit"]["errors"]
    named = all(error in loaded["why"] for error in errors)
    as_foreseen = (
        expected["sha256"] in {None, digest}
        and (loaded["status"], smoked["status"]) == (expected["load_status"], expected["smoke_status"])
        and named
    )
    print(f"{path.name}: load {loaded['status']}, smoke {smoked['status']}, as foreseen: {as_foreseen}", flush=True)
    return {
        "bundle": path.name,
        "sha256": digest,
        "predicted": {key: expected[key] for key in ("audit", "load_status", "smoke_status")},
        "observed": {"load": loaded, "smoke": smoked},
        "as_foreseen": as_foreseen,
    }


if __name__ == "__main__":
    sys.exit(main())
