"""What is edited in a rendered workflow before act runs it: what act cannot do, and what somebody may do to it."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
INSTALL = "Install cubingate"
_OUTPUT = re.compile(r"^\$\{\{ steps\.seal\.outputs\.(\w+) \}\}$", re.ASCII)
_HASH = re.compile(r"hashFiles\('[^']*'\)")


def for_act(workflow: Json) -> None:
    """Mend what act does otherwise than GitHub.

    Of a matrix it keeps the outputs of the leg that ends first, and makes those empty that other legs were to set
    (https://github.com/nektos/act/issues/981). Here an output that a leg leaves empty stays the expression that it
    was, which the next leg evaluates; one leg at a time, since act does not lock them.

    ``hashFiles`` asks a program that a fresh machine does not have; in the name of a cache, which is a stand-in, any
    word does.
    """
    for job in workflow["jobs"].values():
        outputs = job.get("outputs", {})
        if "strategy" in job:
            job["strategy"]["max-parallel"] = 1
        outputs |= {name: f"${{{{ steps.seal.outputs.{name} || vars.LATER_{name} }}}}" for name in _sealed(outputs)}
        for step in job["steps"]:
            if "key" in step.get("with", {}):
                step["with"]["key"] = _HASH.sub("'hash'", step["with"]["key"])


def remembered(workflow: Json) -> Iterator[str]:
    """The variables that hold these expressions, ``NAME=TEXT``."""
    for job in workflow["jobs"].values():
        for name, text in job.get("outputs", {}).items():
            if f"vars.LATER_{name} " in text:
                yield f"LATER_{name}={text}"


def _sealed(outputs: dict[str, str]) -> list[str]:
    return [name for name, text in outputs.items() if _OUTPUT.match(text)]


def use_this_tree(workflow: Json, folder: Path, *, but: str = "") -> None:
    """Let every job's install step put this tree's cubingate on the path, where pip would take 15 seconds in each.

    Job ``but`` keeps its own; the step is the same in all of them.
    """
    place = folder / "bin"
    place.mkdir()
    tool = place / "cubingate"
    words = f'PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m pipeline "$@"'
    tool.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
    tool.chmod(0o755)
    script = (
        f'echo "stand-in: this tree instead of an installation"\necho {shlex.quote(str(place))} >> "$GITHUB_PATH"\n'
    )
    jobs = workflow["jobs"]
    steps = {name: step for name in jobs for step in jobs[name]["steps"] if step.get("name") == INSTALL}
    assert steps
    assert all(step == steps["plan"] for step in steps.values())
    for name, step in steps.items():
        if name != but:
            step["run"] = script


def impatient(workflow: Json) -> None:
    """Let the watch job's patience end with its first look."""
    for step in workflow["jobs"].get("watch", {"steps": ()})["steps"]:
        if "run" in step:
            step["run"] = re.sub(r"--watch \d+", "--watch 0.0000001", step["run"])


def never(name: str) -> Callable[[Json], None]:
    """A condition that skips job ``name``."""

    def edit(workflow: Json) -> None:
        workflow["jobs"][name]["if"] = False

    return edit


def deaf(workflow: Json) -> None:
    """A gate whose no does not fail its job."""
    for step in workflow["jobs"]["gate"]["steps"]:
        if "cubingate gate" in step.get("run", ""):
            step["continue-on-error"] = True


def ends_early(workflow: Json) -> None:
    """A build job that is ended before its work is done, as a cancelled one is: it hands nothing on.

    act can end a whole run, but not one job of it.
    """
    job = workflow["jobs"]["build"]
    place = next(number for number, step in enumerate(job["steps"]) if "cubingate run" in step.get("run", ""))
    job["steps"][place:] = [{"if": "${{ matrix.id == 'good' }}", "run": "kill -TERM $$"}, *job["steps"][place:]]
    for step in job["steps"][place + 1 :]:
        step["if"] = "${{ matrix.id != 'good' }}"


def only(*lanes: str) -> Callable[[Json], None]:
    """A matrix somebody wrote by hand, which knows these lanes and no other."""

    def edit(workflow: Json) -> None:
        include = [{"id": name, "runner": ["ubuntu-24.04"], "prebuilt": True} for name in lanes]
        workflow["jobs"]["build"]["strategy"]["matrix"] = {"include": include}

    return edit


def forged_proof(workflow: Json) -> None:
    """A GPU runner in other hands: it seals a pass of a check that no GPU makes, and its digest comes as it should."""
    job = workflow["jobs"]["prove"]
    (seal,) = (step for step in job["steps"] if step.get("id") == "seal")
    seal["run"] = (
        'place=".cubingate/sealed/prove-$RUN"\n'
        "sum=$(sha256sum < .cubingate/lanes/good/*.tar.gz)\n"
        'record="evidence/${sum%% *}/smoke@cpu"\n'
        'mkdir -p "$place/$record" "$place/seals"\n'
        'echo "{}" > "$place/$record/forged.json"\n'
        '(cd "$place" && sha256sum "$record/forged.json" > "seals/prove-$RUN.sha256")\n'
        'sum=$(sha256sum < "$place/seals/prove-$RUN.sha256")\n'
        'echo "prove_${RUN//[^A-Za-z0-9]/_}=${sum%% *}" >> "$GITHUB_OUTPUT"\n'
    )
