"""Runs a workflow with ``act`` on this host: this repository's action is real, GitHub's are stand-ins that say so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
SHA = 40 * "0"
ACTION = f"OWNER/cubingate/.github/actions/audit@{SHA}"
CHECKOUT = {"uses": f"actions/checkout@{SHA}"}  # act has one of its own for the repository that it runs
SHIPPED = ("pipeline", "dockerfiles", "templates", ".github", "pyproject.toml", "README.md", "LICENSE")
UPLOAD = {
    "name": "stand-in for upload-sarif",
    "description": "Copies the file instead of sending it.",
    "inputs": {"sarif_file": {"required": True, "description": "file"}, "category": {"description": "name"}},
    "runs": {
        "using": "composite",
        "steps": [
            {
                "shell": "bash",
                "env": {"FILE": "${{ inputs.sarif_file }}"},
                "run": 'echo "stand-in: not sent anywhere"; cp "$FILE" "$RESULTS/uploaded.sarif"',
            }
        ],
    },
}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a workflow left: act's log, and what each step with an id had for outputs and outcome."""

    log: str
    steps: dict[str, dict[str, Any]]
    results: Path


def run(folder: Path, repository: Path, steps: list[dict[str, Any]], environment: Mapping[str, str]) -> Ran:
    """Run ``steps`` one after the other in a job of ``repository``, also behind one that failed."""
    results = folder / "results"
    results.mkdir()
    job_environment = {"RESULTS": str(results), "PIP_CACHE_DIR": str(_cache()), **environment}
    jobs = {"audit": {"runs-on": "ubuntu-latest", "env": job_environment, "steps": [CHECKOUT, *_recorded(steps)]}}
    workflow = repository / ".github" / "workflows" / "try.yml"
    workflow.parent.mkdir(parents=True, exist_ok=True)
    workflow.write_text(yaml.safe_dump({"name": "try", "on": "push", "jobs": jobs}), encoding="utf-8")
    _commit(repository)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "act"), "push", "-P", "ubuntu-latest=-self-hosted", *_stand_ins(folder)],
        cwd=repository,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "ACT_DISABLE_VERSION_CHECK": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    recorded = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in results.glob("*.step")}
    return Ran(done.stdout + done.stderr, recorded, results)


def _recorded(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each step, and behind it one that keeps what became of it."""
    told = []
    for step in steps:
        name = step["id"]
        keep = {"shell": "bash", "env": {"STEP": f"${{{{ toJSON(steps.{name}) }}}}"}}
        keep["run"] = (
            f'printf %s "$STEP" > "$RESULTS/{name}.step"\n'
            f'mkdir -p "$RESULTS/{name}"\n'
            f'for folder in "$RUNNER_TEMP"/cubingate-audit-*; do\n'
            f'  if [ -d "$folder" ]; then mv "$folder" "$RESULTS/{name}/"; fi\n'
            "done"
        )
        told += [{"continue-on-error": True, **step}, keep]
    return told


def _stand_ins(folder: Path) -> list[str]:
    tool = folder / "tool"
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tool / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tool / name)
    upload = folder / "codeql" / "upload-sarif" / "action.yml"
    upload.parent.mkdir(parents=True)
    upload.write_text(yaml.safe_dump(UPLOAD), encoding="utf-8")
    action = yaml.safe_load((ROOT / ".github/actions/audit/action.yml").read_text(encoding="utf-8"))
    pinned = action["runs"]["steps"][1]["uses"].partition("@")[2]
    local = {f"OWNER/cubingate@{SHA}": tool, f"github/codeql-action@{pinned}": folder / "codeql"}
    return [word for name, place in local.items() for word in ("--local-repository", f"{name}={place}")]


def _cache() -> Path:
    return Path(os.environ.get("CUBINGATE_TEST_CACHE", Path.home() / ".cache" / "cubingate-tests")) / "pip"


def _commit(repository: Path) -> None:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "try"]):
        subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)
