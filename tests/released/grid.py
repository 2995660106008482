"""Audit ten released packages for eight GPUs and three drivers, beside what their makers document; status 1 where an
answer is not the recorded one.

    python -m tests.released.grid [--package FILE]… [--write]

``--write`` records what is answered now, in docs/evidence/wheels-grid.json and docs/evidence/wheels-grid.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.audit import audit_artifacts
from pipeline.audit.run import read_or_damage
from pipeline.audit.wheel import requirements_of
from pipeline.policy import load_policy
from pipeline.report.audit_json import audit_document
from pipeline.rules.declaration import HostFloor
from tests.released.audits import declaration, fetched
from tests.released.documented import DRIVERS, SMS, SUBJECTS
from tests.released.grid_page import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.formats.facts import Inventory
    from pipeline.policy import Policy
    from tests.released.documented import Statement, Subject

EVIDENCE = Path(__file__).resolve().parents[2] / "docs" / "evidence"
RECORD, PAGE = EVIDENCE / "wheels-grid.json", EVIDENCE / "wheels-grid.md"
CELLS = tuple((sm, driver) for sm in SMS for driver in DRIVERS)


def main(words: Sequence[str]) -> int:
    """0: as recorded (or recorded now); 1: something else."""
    arguments = _parser().parse_args(words)
    policy = load_policy()
    chosen = [it for it in SUBJECTS if not arguments.package or it.package.filename in arguments.package]
    answers = []
    for subject in chosen:
        answers.append(answered(subject, policy))
        print(f"audited {subject.package.filename}", file=sys.stderr, flush=True)
    kept = {it["file"]: it for it in recorded()} if RECORD.exists() else {}
    if arguments.write:
        _write(kept | {it["file"]: it for it in answers}, policy.date)
        return 0
    lines = [line for answer in answers for line in differences(kept.get(answer["file"]), answer)]
    print("\n".join(lines) or f"{len(answers)} packages answer as recorded")
    return 1 if lines else 0


def recorded() -> list[dict[str, Any]]:
    """The packages of the committed record."""
    packages: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))["packages"]
    return packages


def answered(subject: Subject, policy: Policy) -> dict[str, Any]:
    """One package as the record has it: a cell for each GPU and driver."""
    path = fetched(subject.package)
    inventory, requirements = read_or_damage(path, deep=False), tuple(requirements_of(path))
    plain = _verdicts(subject, inventory, requirements, (), policy)
    declared = _verdicts(subject, inventory, requirements, subject.by_design, policy) if subject.by_design else plain
    cells = []
    for (sm, driver), answer, other in zip(CELLS, plain, declared, strict=True):
        row = {"sm": sm, "driver": driver, "verdict": answer["verdict"], "causes": answer["causes"]}
        row |= {"fatbins": answer["fatbins"], "declared": other["verdict"] if subject.by_design else ""}
        cells.append(row | judged(subject, sm, driver, answer["verdict"]))
    package = subject.package
    return {
        "package": package.name,
        "version": package.version,
        "file": package.filename,
        "sha256": inventory.sha256,
        "host_libraries": list(package.host),
        "by_design": list(subject.by_design),
        "remark": subject.remark,
        "cells": cells,
    }


def judged(subject: Subject, sm: str, driver: str, verdict: str) -> dict[str, Any]:
    """What the documents say of one cell, whether the verdict is that, and if not, why."""
    said = [it for it in subject.statements if sm in it.sms and driver in it.drivers]
    agrees = all(it.works is (verdict == "pass") for it in said) if said else None
    why = [it.text for it in subject.explanations if sm in it.sms and driver in it.drivers] if agrees is False else []
    return {"documented": [_statement(it) for it in said], "agrees": agrees, "explained": "; ".join(why)}


def differences(before: dict[str, Any] | None, now: dict[str, Any]) -> Iterator[str]:
    """What is not as recorded, cell by cell."""
    if before is None or {**before, "cells": []} != {**now, "cells": []}:
        yield f"{now['file']}: not as recorded"
        return
    for old, new in zip(before["cells"], now["cells"], strict=True):
        for key in (key for key in new if old[key] != new[key]):
            yield f"{now['file']} {new['sm']}@{new['driver']}: {key} was {old[key]}, is {new[key]}"


def counts(packages: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many cells agree with the documents, differ from them, and have none."""
    seen = [cell["agrees"] for package in packages for cell in package["cells"]]
    return {"agree": seen.count(True), "differ": seen.count(False), "unjudged": seen.count(None)}


def _verdicts(
    subject: Subject, inventory: Inventory, requirements: tuple[str, ...], by_design: tuple[str, ...], policy: Policy
) -> list[dict[str, Any]]:
    targets = [policy.parse_target(f"{sm}@{driver}") for sm, driver in CELLS]
    host = HostFloor(libraries=subject.package.host) if subject.package.host else None
    report = audit_artifacts([inventory], targets, declaration(by_design), host, policy, requirements=requirements)
    answers: list[dict[str, Any]] = audit_document(report)["targets"]
    return answers


def _statement(said: Statement) -> dict[str, Any]:
    document = said.document
    source = {"document": document.title, "version": document.version, "address": document.address}
    return {"works": said.works, "says": said.says} | source


def _write(kept: dict[str, dict[str, Any]], date: str) -> None:
    packages = [kept[it.package.filename] for it in SUBJECTS if it.package.filename in kept]
    document = {
        "schema_version": 1,
        "kind": "released-packages-grid",
        "tool": {"name": "cubingate", "version": __version__},
        "policy_date": date,
        "counts": counts(packages),
        "packages": packages,
    }
    RECORD.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(document), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.released.grid", description="Audit the grid again.")
    names = [it.package.filename for it in SUBJECTS]
    parser.add_argument("--package", action="append", choices=names, help="only this file (repeatable)")
    parser.add_argument("--write", action="store_true", help="record what is answered now")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
