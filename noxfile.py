"""How people and CI run cubingate: `nox -s release`, `nox -s tests`; arguments after `--` reach the command."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import nox

nox.needs_version = ">=2024.4"
nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

HERE = Path(__file__).resolve().parent
STATUSES = {
    0: "pass",
    1: "refused: a required check failed or its evidence is missing",
    2: "usage: bad arguments or an invalid matrix.yaml",
    3: "nothing examined",
    4: "infrastructure: the product was not judged",
    5: "corrupt or hostile input",
    130: "interrupted; run it again to go on",
    143: "terminated; run it again to go on",
}
GRAVEST_FIRST = (143, 130, 5, 2, 4, 1, 3, 0)


@nox.session
def release(session: nox.Session) -> None:
    """Run the whole street, then publish to dist/ what was approved even where other lanes were refused."""
    _install(session)
    statuses = [_cubingate(session, "run", *session.posargs)]
    if statuses[0] in {0, 1, 4}:
        statuses.append(_cubingate(session, "publish", "--to", "dist", *_matrix_of(session.posargs)))
    _finish(session, min(statuses, key=GRAVEST_FIRST.index))


@nox.session(name="build-cuda")
def build_cuda(session: nox.Session) -> None:
    """Build CUDA lanes in Docker; say which: `nox -s build-cuda -- --lane cuda13.0-sm90`."""
    _install(session)
    _finish(session, _cubingate(session, "build", *(session.posargs or _lanes(session, "cuda"))))


@nox.session(name="build-cpu")
def build_cpu(session: nox.Session) -> None:
    """Build (or fetch) the CPU lanes."""
    _install(session)
    _finish(session, _cubingate(session, "build", *(session.posargs or _lanes(session, "cpu"))))


@nox.session
def audit(session: nox.Session) -> None:
    """Audit artifacts: `nox -s audit -- PATH --target 80@535`."""
    _install(session)
    _finish(session, _cubingate(session, "audit", *session.posargs))


@nox.session
def smoke(session: nox.Session) -> None:
    """Serve one token from a bundle: `nox -s smoke -- PATH`."""
    _install(session)
    _finish(session, _cubingate(session, "smoke", *session.posargs))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; Docker tests too where an engine answers, GPU tests only when told to."""
    _install(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and mypy strict on the code and the tests; freshness, safety and three linters on what GitHub runs."""
    _install(session, "lint", "test")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    workflows, actions = (
        sorted(map(str, Path(".github").glob(where))) for where in ("workflows/*", "actions/*/action.yml")
    )
    session.run("cubingate", "workflow", "--install", ".", "--check", "--strict")
    session.run("zizmor", "--offline", "--no-progress", "--persona=auditor", *workflows, *actions)
    session.run("actionlint", "-shellcheck=", "-pyflakes=", *workflows)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", *actions)


@nox.session
def corpus(session: nox.Session) -> None:
    """The long tests: every version and every library of the corpus."""
    _install(session, "test")
    session.run("python", "-m", "pytest", "-m", "slow", *session.posargs, env={"CUBINGATE_SLOW": "1"})


@nox.session
def policy(session: nox.Session) -> None:
    """Hold the policy tables against NVIDIA's own tools, all toolkits: `nox -s policy -- --write` mends them."""
    _install(session, "test")
    session.run("python", "-m", "tests.regenerate", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Repeat what must never fail once: interrupted runs, parallel smokes."""
    _install(session, "test")
    session.run("python", "-m", "pytest", "-m", "soak", *session.posargs, env={"CUBINGATE_SOAK": "1"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Let a coverage-guided fuzzer look for an input that the readers cannot take: `nox -s fuzz -- -runs=20000`."""
    _install(session, "fuzz", "test")
    corpus = session.create_tmp()
    session.run("python", "fuzz/inventory.py", f"{corpus}/corpus", *(session.posargs or ["-max_total_time=60"]))


@nox.session
def gpu(session: nox.Session) -> None:
    """The tests that need an NVIDIA GPU; they fail, not skip, where there is none."""
    _install(session, "test")
    session.run("python", "-m", "pytest", "-m", "gpu", *session.posargs, env={"CUBINGATE_GPU": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the figures of docs/benchmarks.md on this machine."""
    _install(session, "test")
    session.run("python", "-m", "tests.bench", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Build wheel and sdist once and hold them against what they claim: `nox -s package -- --tag v1.2.3`."""
    session.install("--quiet", *nox.project.dependency_groups(_pyproject(), "package"))
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist), str(HERE))
    session.run("python", "scripts/check_package.py", str(dist), *session.posargs)
    session.log(f"checked, and not changed since: {dist}")


def _install(session: nox.Session, *groups: str) -> None:
    """Install the project (editable) and dependency groups, unless this environment already has exactly these."""
    project = (HERE / "pyproject.toml").read_bytes()
    wanted = hashlib.sha256(project + repr(groups).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / ".cubingate-installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    requirements = [req for group in groups for req in nox.project.dependency_groups(_pyproject(), group)]
    session.install("--quiet", "-e", ".", *requirements)
    stamp.write_text(wanted, encoding="utf-8")


def _pyproject() -> dict[str, object]:
    return nox.project.load_toml(HERE / "pyproject.toml")


def _cubingate(session: nox.Session, *arguments: str) -> int:
    """Run the command of this session's environment and return its exit status, which nox itself would hide."""
    command = [str(Path(session.bin) / "cubingate"), *arguments]
    session.log(" ".join(["cubingate", *arguments]))
    return subprocess.call(command, cwd=os.environ.get("NOX_INVOKED_FROM", HERE))


def _finish(session: nox.Session, status: int) -> None:
    session.log(f"exit status {status} ({STATUSES.get(status, 'unknown')})")
    if status:
        session.error(f"cubingate ended with status {status}: {STATUSES.get(status, 'unknown')}")


def _lanes(session: nox.Session, flavour: str) -> list[str]:
    """``--lane`` for each lane of the flavour in this repository's matrix.yaml."""
    code = "import json,sys; print(*[l['id'] for l in json.load(sys.stdin)['lanes'] if l['flavour'] == sys.argv[1]])"
    plan = subprocess.run(
        [str(Path(session.bin) / "cubingate"), "plan", "--format", "json"], cwd=HERE, check=True, capture_output=True
    )
    python = str(Path(session.bin) / "python")
    ids = subprocess.run([python, "-c", code, flavour], input=plan.stdout, check=True, capture_output=True).stdout
    return [word for lane in ids.decode().split() for word in ("--lane", lane)]


def _matrix_of(arguments: list[str]) -> list[str]:
    """``--matrix FILE`` and ``--state DIR`` as given to ``run``, for ``publish``."""
    kept: list[str] = []
    for option, value in pairwise(arguments):
        if option in {"--matrix", "--state"}:
            kept += [option, value]
    return kept
