"""Turn what a session brought back into the records of docs/evidence, and print what a reader wants to know first.

    python -m tests.gpu.keep RESULTS... --out docs/evidence

``RESULTS`` are unpacked ``results`` folders; where a record is in several of them, the last one counts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def main() -> int:
    """Write every record of which there is something."""
    parser = argparse.ArgumentParser(description="records out of a GPU session")
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    found = {
        str(path.relative_to(folder)): json.loads(path.read_text())
        for folder in arguments.results
        for path in sorted(folder.rglob("*.json"))
    }
    for name, record in records(found):
        (arguments.out / f"h200-r580-{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {told(name, record)}")
    return 0


def records(found: dict[str, Any]) -> list[tuple[str, Any]]:
    kept: list[tuple[str, Any]] = []
    if "overhead.json" in found:
        kept.append(("overhead", {**found["overhead.json"], "load": three_passes(found.get("load.json"))}))
    if "situations.json" in found:
        kept.append(("situations", found["situations.json"]))
    rows = [
        row for name in ("bundles/bundles.json", "built/bundles.json") for row in found.get(name, {}).get("bundles", ())
    ]
    if rows:
        kept.append(("bundles", {"kind": "bundles", "predicted_for": "90@580.159.04", "bundles": rows}))
    if "workflow.json" in found:
        kept.append(("workflow", found["workflow.json"]))
    if "damage.json" in found:
        kept.append(("damage", found["damage.json"]))
    released = [record for name, record in found.items() if name.startswith("load-released-")]
    if released:
        kept.append(("released-2", {"kind": "released", "artifacts": released}))
    return kept


def three_passes(document: Any) -> dict[str, Any] | None:
    """One whole load without its rows: how long it took, and on what."""
    if document is None:
        return None
    return {key: document[key] for key in ("machine", "verdict", "examined", "seconds", "driver_seconds")}


def told(name: str, record: Any) -> str:
    match name:
        case "overhead":
            return f"{record['overhead']:.1%} over {record['medians']['bare_loop']} s"
        case "bundles":
            right = sum(row["as_foreseen"] for row in record["bundles"])
            return f"{right} of {len(record['bundles'])} as foreseen"
        case "damage":
            return f"{record['summary']['caught']} of {record['summary']['flips']} flips are caught"
        case "released-2":
            count = sum(row["containers"] for row in record["artifacts"])
            return (
                f"{count} containers, {sum(len(row['disagreements']) for row in record['artifacts'])} not as foreseen"
            )
        case _:
            return "kept"


if __name__ == "__main__":
    raise SystemExit(main())
