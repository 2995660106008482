"""The action's one step: install cubingate apart from what is the user's, audit once, tell GitHub in its own files.

Runs with the runner's Python and the standard library alone; the environment has the inputs (see action.yml).
"""

from __future__ import annotations

import glob
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PASS, REFUSED, USAGE, INFRASTRUCTURE = 0, 1, 2, 4
JUDGED = (PASS, REFUSED, 5)  # damage is a verdict too
OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parents[3]
REPORTS = {"json": "audit.json", "sarif": "audit.sarif", "markdown": "summary.md", "annotations": "annotations.txt"}
# What would lead pip or Python out of the environment that is made here.
ASTRAY = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")


class Failure(Exception):
    """Nothing was judged: the status that the step ends with, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True)
class Step:
    """One step of a job: its inputs, and the files and folders that the runner gave it."""

    variables: Mapping[str, str]

    def given(self, name: str) -> str:
        """The input of that name, as it was written in the workflow."""
        return self.variables.get(f"CUBINGATE_{name.upper()}", "")

    def folder(self) -> Path:
        """Where the runner wants what lives as long as the job."""
        return Path(self.variables.get("RUNNER_TEMP") or tempfile.gettempdir())

    def append(self, variable: str, text: str) -> None:
        """Write to one of GitHub's files, where the runner has named it."""
        if self.variables.get(variable):
            with Path(self.variables[variable]).open("a", encoding="utf-8") as file:
                file.write(text)

    def output(self, name: str, value: str) -> None:
        """Set an output; a delimiter that nobody can guess ends it, so that no value sets another."""
        end = f"end-{uuid.uuid4().hex}"
        self.append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def main(step: Step) -> int:
    """Audit, tell, and return the status of the step."""
    reports = Path(tempfile.mkdtemp(prefix="cubingate-audit-", dir=step.folder()))
    try:
        words = arguments(step)
        status = audit(installed(step), words, reports, step)
    except Failure as failure:
        tell_failure(step, failure)
        return failure.status
    tell(step, status, reports)
    return PASS if status == REFUSED and step.given("fail_on") == "error" else status


def arguments(step: Step) -> list[str]:
    """The words behind ``cubingate audit``; no input can be taken for an option, nor for two words."""
    if step.given("fail_on") not in ("verdict", "error"):
        raise Failure(USAGE, "the input 'fail-on' is verdict or error")
    words = [f"--target={target}" for target in re.split(r"[\s,]+", step.given("targets")) if target]
    words += [f"--{name}={step.given(name)}" for name in ("matrix", "lane", "host") if step.given(name)]
    paths = [path for line in lines(step.given("path")) for path in matching(line)]
    if not paths:
        raise Failure(USAGE, "the input 'path' names nothing")
    return [*words, "--", *paths]


def lines(text: str) -> list[str]:
    """One path a line; or a JSON list, where a name may contain a newline."""
    if not text.lstrip().startswith("["):
        return [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    try:
        listed = json.loads(text)
    except ValueError as error:
        raise Failure(USAGE, f"the input 'path' begins as a JSON list and is none: {error}") from error
    if not all(isinstance(item, str) and item for item in listed):
        raise Failure(USAGE, "the input 'path' is a JSON list of something else than texts")
    return list(listed)


def matching(line: str) -> Iterable[str]:
    """The line itself, or the files that it stands for; a pattern without a file is a mistake, never an empty set."""
    if os.path.lexists(line) or not re.search(r"[*?\[]", line):
        return [line]
    found = sorted(glob.glob(line, recursive=True))  # noqa: PTH207 -- absolute patterns too
    if not found:
        raise Failure(USAGE, f"no file fits {line!r}")
    return found


def installed(step: Step) -> Path:
    """The Python of an environment with this action's own cubingate, made once in a job."""
    if sys.version_info < OLDEST_PYTHON:
        version = ".".join(map(str, sys.version_info[:3]))
        raise Failure(INFRASTRUCTURE, f"Python {version} is too old: set one up from 3.11 on (actions/setup-python)")
    place = step.folder() / "cubingate-action"
    python, stamp = place / "bin" / "python", place / "installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == str(ROOT):
        return python
    say("::group::Install cubingate")
    try:
        venv.create(place, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pip += ["--no-compile", str(ROOT)]  # one audit does not earn compiling sixty packages
        subprocess.run(pip, env=clean(step.variables), check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(INFRASTRUCTURE, f"cubingate cannot be installed here: {error}") from error
    finally:
        say("::endgroup::")
    stamp.write_text(str(ROOT), encoding="utf-8")
    return python


def clean(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead out of ours."""
    return {name: value for name, value in variables.items() if name not in ASTRAY}


def audit(python: Path, words: list[str], reports: Path, step: Step) -> int:
    """Run the audit once, all reports from the same pass; what it prints does nothing in the log."""
    also = [f"--also={name}={reports / file}" for name, file in REPORTS.items()]
    command = [str(python), "-I", "-m", "pipeline", "audit", *also, *words]
    variables = clean(step.variables)
    done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    printed, said = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    token = uuid.uuid4().hex  # names out of the artifact are printed: none of them is a command to the runner
    say(f"::stop-commands::{token}\n{printed}{said}\n::{token}::")
    if not (reports / REPORTS["json"]).is_file():
        raise Failure(done.returncode or INFRASTRUCTURE, said.strip() or "the audit ended without a report")
    return done.returncode


def tell(step: Step, status: int, reports: Path) -> None:
    """Outputs, annotations and summary of an audit that came to an end."""
    told = json.loads((reports / REPORTS["json"]).read_text(encoding="utf-8"))
    step.output("verdict", told["verdict"] if status in JUDGED else "error")
    step.output("status", str(status))
    step.output("minimum-driver", minimum_driver(told.get("targets", [])))
    for name in ("json", "sarif"):
        step.output(name, str(reports / REPORTS[name]))
    say((reports / REPORTS["annotations"]).read_text(encoding="utf-8"))
    step.append("GITHUB_STEP_SUMMARY", (reports / REPORTS["markdown"]).read_text(encoding="utf-8"))


def tell_failure(step: Step, failure: Failure) -> None:
    """The same of one that did not."""
    step.output("verdict", "error")
    step.output("status", str(failure.status))
    message = failure.message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    say(f"::error title=cubingate audit ended with status {failure.status}::{message}")
    told = html.escape(failure.message).replace("\n", "<br>")
    step.append("GITHUB_STEP_SUMMARY", f"### cubingate audit: nothing was judged\n\n<pre>{told}</pre>\n")


def minimum_driver(targets: list[dict[str, Any]]) -> str:
    """The highest of the targets' lowest drivers; the reason where one of them has none."""
    for target in targets:
        if target["minimum_driver"] is None:
            return str(target["minimum_driver_reason"])
    return max((target["minimum_driver"] for target in targets), key=parts, default="")


def parts(version: str) -> tuple[int, ...]:
    """A driver version as numbers, to be compared."""
    return tuple(int(part) for part in version.split("."))


def say(text: str) -> None:
    """Print to the step's log, in order with what other programs print there."""
    sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Step(os.environ)))
