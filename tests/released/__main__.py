"""Audit the released packages again; status 1 where an answer is not the recorded one.

    python -m tests.released [--package NAME]… [--write]

``--write`` records what is answered now, in docs/evidence/wheels.json and in the tables of docs/evidence/wheels.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.policy import load_policy
from tests.released.audits import audited, fetched
from tests.released.corpus import PACKAGES
from tests.released.render import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EVIDENCE = Path(__file__).resolve().parents[2] / "docs" / "evidence"
RECORD, PAGE = EVIDENCE / "wheels.json", EVIDENCE / "wheels.md"


def main(words: Sequence[str]) -> int:
    """0: as recorded (or recorded now); 1: something else."""
    arguments = _parser().parse_args(words)
    chosen = [package for package in PACKAGES if not arguments.package or package.name in arguments.package]
    policy = load_policy()
    answers = []
    for package in chosen:
        answers.append(audited(package, fetched(package), policy))
        print(f"audited {package.name} {package.version}", file=sys.stderr, flush=True)
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"packages": []}
    if arguments.write:
        _write(recorded, answers, policy.date)
        return 0
    lines = list(differences(recorded["packages"], answers))
    print("\n".join(lines) or f"{len(answers)} packages answer as recorded")
    return 1 if lines else 0


def differences(recorded: list[dict[str, Any]], answers: list[dict[str, Any]]) -> Iterator[str]:
    """What is not as recorded, row by row."""
    known = {package["package"]: package for package in recorded}
    for answer in answers:
        name, before = answer["package"], known.get(answer["package"])
        if before is None or {**before, "targets": []} != {**answer, "targets": []}:
            yield f"{name}: not as recorded"
            continue
        if len(before["targets"]) != len(answer["targets"]):
            yield f"{name}: {len(before['targets'])} rows recorded, {len(answer['targets'])} now"
            continue
        for old, new in zip(before["targets"], answer["targets"], strict=True):
            for key in new:
                if old.get(key) != new[key]:
                    yield f"{name} {new['target']}: {key} was {old.get(key)}, is {new[key]}"


def _write(recorded: dict[str, Any], answers: list[dict[str, Any]], date: str) -> None:
    kept = {package["package"]: package for package in recorded["packages"]}
    kept |= {answer["package"]: answer for answer in answers}
    document = {
        "schema_version": 1,
        "kind": "released-packages",
        "tool": {"name": "cubingate", "version": __version__},
        "policy_date": date,
        "packages": [kept[package.name] for package in PACKAGES if package.name in kept],
    }
    RECORD.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.released", description=(__doc__ or "").partition("\n")[0])
    names = [package.name for package in PACKAGES]
    parser.add_argument("--package", action="append", choices=names, help="only this one (repeatable)")
    parser.add_argument("--write", action="store_true", help="record what is answered now")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
