"""Count the alarms again; status 1 where something is not as recorded, or has no judgement.

    python -m tests.alarms [--package NAME]… [--write]

``--write`` records what is measured now, in docs/evidence/alarms.json and in the tables of docs/evidence/alarms.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.policy import load_policy
from tests.alarms.corpus import CORPUS, artifact, judged
from tests.alarms.measure import measured
from tests.alarms.page import WAYS, page

if TYPE_CHECKING:
    from collections.abc import Sequence

EVIDENCE = Path(__file__).resolve().parents[2] / "docs" / "evidence"
RECORD, PAGE = EVIDENCE / "alarms.json", EVIDENCE / "alarms.md"


def main(words: Sequence[str]) -> int:
    """0: as recorded (or recorded now); 1: something else."""
    parser = argparse.ArgumentParser(prog="python -m tests.alarms")
    parser.add_argument("--package", action="append", default=[], help="only this requirement (repeatable)")
    parser.add_argument("--write", action="store_true", help="record what is measured")
    arguments = parser.parse_args(words)
    policy = load_policy()
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["packages"] if RECORD.exists() else {}
    lines: list[str] = []
    for requirement in arguments.package or CORPUS:
        found = judged(requirement, measured(artifact(requirement), policy))
        print(f"measured {requirement}", file=sys.stderr, flush=True)
        unjudged = {row["library"] for way in WAYS for row in found[way] if not row["kind"]}
        lines += [f"{requirement}: no judgement: {library}" for library in sorted(unjudged)]
        if found != recorded.get(requirement):
            lines += [] if arguments.write else [f"{requirement}: not as recorded"]
            recorded[requirement] = found
    if arguments.write:
        ordered = {requirement: recorded[requirement] for requirement in CORPUS if requirement in recorded}
        RECORD.write_text(json.dumps({"policy": policy.date, "packages": ordered}, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), ordered), encoding="utf-8")
    print("\n".join(lines) or "as recorded")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
