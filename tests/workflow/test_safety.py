"""Each property holds in every workflow that is rendered, and a workflow that lacks it is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.workflow.render import Kind
from pipeline.workflow.safety import PROPERTIES, violations
from tests.workflow.matrices import ACTIONS, KNOWN, MATRICES, rendered

ROOT = Path(__file__).resolve().parents[2]
WHOLE = "gpu-to-a-release"
CHECKOUT = ACTIONS["actions/checkout"].uses
JUDGE = "      - name: Judge every planned lane\n"
HOLD = "      - name: Hold what came against the digests of the jobs that made it\n"
ALWAYS = "    if: ${{ always() }}\n"
GUARDED = "    environment: release\n"
READ = "    permissions:\n      contents: read\n"

# Property → mutations: which workflow, what stands there, what stands there instead.
TWINS: dict[str, list[tuple[Kind, str, str]]] = {
    "permissions-are-empty": [
        (Kind.RELEASE, "permissions: {}\n", ""),
        (Kind.RELEASE, "permissions: {}\n", "permissions: read-all\n"),
        (Kind.NIGHTLY, "permissions: {}\n", "permissions: {contents: read}\n"),
        (Kind.NIGHTLY, READ, ""),
    ],
    "writing-is-guarded": [
        (Kind.RELEASE, GUARDED, ""),
        (Kind.RELEASE, READ, "    permissions:\n      contents: write\n"),
        (Kind.RELEASE, READ, "    permissions: write-all\n"),
        (Kind.RELEASE, GUARDED, f"{GUARDED}    runs-on: a30\n"),
    ],
    "secrets-stay-hosted": [
        (Kind.RELEASE, "          LANE: ${{ matrix.id }}", "          LANE: ${{ secrets.KEY }}"),
        (Kind.RELEASE, "          RUN: ${{ matrix.id }}", "          RUN: ${{ github.token }}"),
        (Kind.RELEASE, "permissions: {}\n", "permissions: {}\nenv:\n  KEY: ${{ secrets.KEY }}\n"),
        (Kind.RELEASE, "permissions: {}\n", "permissions: {}\nenv:\n  ALL: ${{ toJSON(github) }}\n"),
        (Kind.RELEASE, "          RUN: ${{ matrix.id }}", "          RUN: ${{ github['token'] }}"),
        (Kind.PULL_REQUEST, "          PLANNED: ${{ needs.plan.result }}", "          PLANNED: ${{ secrets.KEY }}"),
        *(
            (Kind.RELEASE, "          RUN: ${{ matrix.id }}", f"          RUN: ${{{{ {each} }}}}")
            for each in ("SECRETS.KEY", "GitHub.Token", "toJSON(github)", "join(github.*)", "'}}' && secrets.KEY")
        ),
    ],
    "strangers-stay-outside": [
        (Kind.RELEASE, "on:\n", "on:\n  pull_request:\n"),
        (Kind.PULL_REQUEST, "  pull_request:\n", "  pull_request_target:\n"),
        (Kind.RELEASE, "on:\n", "on:\n  pull_request_review:\n"),
        (Kind.RELEASE, "on:\n", "on:\n  pull_request_review_comment:\n"),
        (Kind.NIGHTLY, "on:\n", "on:\n  issue_comment:\n"),
        (Kind.NIGHTLY, "on:\n", "on:\n  workflow_run:\n"),
        (Kind.PULL_REQUEST, "runs-on: ubuntu-24.04\n", "runs-on: ${{ matrix.runner }}\n"),
        (Kind.PULL_REQUEST, "runs-on: ubuntu-24.04\n", "runs-on: [self-hosted, a30]\n"),
        (Kind.PULL_REQUEST, "|| 'ubuntu-24.04' }}", "|| matrix.runner }}"),
        (Kind.PULL_REQUEST, "|| 'ubuntu-24.04' }}", "|| 'a30' }}"),
    ],
    "scripts-are-constant": [
        (Kind.RELEASE, '--lane "$LANE"', "--lane ${{ matrix.id }}"),
        (Kind.PULL_REQUEST, '--lane "$LANE"', "--lane ${{ github.event.pull_request.title }}"),
        (Kind.RELEASE, "set -f --", "echo ${{ inputs.lanes }}"),
    ],
    "actions-are-pinned": [
        (Kind.RELEASE, CHECKOUT, "actions/checkout@v6"),
        (Kind.RELEASE, CHECKOUT, "actions/checkout@main"),
        (Kind.RELEASE, CHECKOUT, f"actions/checkout@{'0' * 40}"),
        (Kind.RELEASE, CHECKOUT, CHECKOUT.replace("actions/checkout", "stranger/checkout")),
        (Kind.RELEASE, CHECKOUT, "docker://alpine:3"),
    ],
    "time-is-bounded": [(kind, "    timeout-minutes: 10\n", "") for kind in Kind],
    "runs-do-not-overlap": [(Kind.NIGHTLY, "concurrency:\n  group: nightly\n  cancel-in-progress: false\n", "")],
    "credentials-are-dropped": [
        (Kind.RELEASE, "          persist-credentials: false\n", "          persist-credentials: true\n"),
        (Kind.RELEASE, "        with:\n          persist-credentials: false\n", ""),
    ],
    "artifacts-are-sealed": [
        (Kind.RELEASE, "cubingate workflow --unseal BUILT\n", "true\n"),
        (Kind.RELEASE, "cubingate workflow --unseal BUILT --unseal PROVEN\n", "true\n"),
        (Kind.RELEASE, "toJSON(needs.build.outputs)", "toJSON('{}')"),
        (Kind.RELEASE, HOLD, f"{HOLD}        continue-on-error: true\n"),
        (Kind.RELEASE, HOLD, f"{HOLD}        continue-on-error: ${{{{ inputs.lanes != '' }}}}\n"),
        (Kind.RELEASE, HOLD, f"{HOLD}        if: ${{{{ inputs.lanes == '' }}}}\n"),
        (Kind.RELEASE, "--unseal BUILT\n", "--unseal BUILT || true\n"),
        (
            Kind.RELEASE,
            "      - name: Hold what came",
            "      - run: .cubingate/lanes/cpu/hello\n      - name: Hold what came",
        ),
    ],
    "the-gate-decides": [
        (Kind.RELEASE, "if: ${{ always() }}", "if: ${{ success() }}"),
        (Kind.NIGHTLY, "if: ${{ always() }}", "if: ${{ !cancelled() }}"),
        (Kind.NIGHTLY, ALWAYS, ""),
        # GitHub tells the jobs that need it of a success: https://github.com/actions/runner/issues/1161
        (Kind.RELEASE, ALWAYS, f"{ALWAYS}    continue-on-error: true\n"),
        (Kind.RELEASE, JUDGE, f"{JUDGE}        continue-on-error: true\n"),
        (Kind.RELEASE, JUDGE, f"{JUDGE}        if: ${{{{ inputs.lanes == '' }}}}\n"),
        (Kind.RELEASE, "--also json=gate.json", "--also json=gate.json || true"),
        (Kind.RELEASE, "          cubingate gate ", "          set +e\n          cubingate gate "),
        (Kind.RELEASE, "needs: [plan, build, prove, watch]", "needs: [plan, build]"),
        (Kind.RELEASE, "needs: [plan, build, prove, gate]", "needs: [plan, build, prove]"),
        (Kind.RELEASE, "${{ !cancelled() && needs.gate.result == 'success' }}", "${{ always() }}"),
        (Kind.RELEASE, "needs.gate.result == 'success' }}", "needs.gate.result == 'success' || true }}"),
        (Kind.RELEASE, "needs.gate.result == 'success' }}", "needs.gate.result != 'failure' }}"),
    ],
    "publications-are-attested": [
        (Kind.RELEASE, ACTIONS["actions/attest-build-provenance"].uses, CHECKOUT),
        (Kind.RELEASE, "      id-token: write", "      id-token: none"),
        (Kind.RELEASE, "--dry-run --sums SHA256SUMS", "--sums SHA256SUMS"),
    ],
}


def told(text: str) -> set[str]:
    return {violation.property for violation in violations(text, KNOWN)}


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("matrix", MATRICES)
def test_every_rendered_workflow_has_every_property(tmp_path: Path, matrix: str, kind: Kind) -> None:
    assert violations(rendered(tmp_path, kind, MATRICES[matrix]), KNOWN) == ()


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_so_has_whatever_is_committed(path: Path) -> None:
    assert violations(path.read_text(encoding="utf-8"), KNOWN) == ()


def test_every_property_has_a_violating_twin() -> None:
    assert set(TWINS) == {look.__name__.replace("_", "-") for look in PROPERTIES}


@pytest.mark.parametrize(
    ("name", "kind", "old", "new"),
    [(name, *twin) for name, twins in TWINS.items() for twin in twins],
    ids=[f"{name}-{number}" for name, twins in TWINS.items() for number in range(len(twins))],
)
def test_a_workflow_that_lacks_a_property_is_told_so(tmp_path: Path, name: str, kind: Kind, old: str, new: str) -> None:
    healthy = rendered(tmp_path, kind, MATRICES[WHOLE])
    assert old in healthy
    # The last place too: the first is often another job's.
    assert name in told(healthy.replace(old, new, 1)) | told(new.join(healthy.rsplit(old, 1)))


@pytest.mark.parametrize("text", ["", "[]", "jobs: {", "name: x\n", "a: 1"])
def test_what_is_no_workflow_is_no_safe_workflow(text: str) -> None:
    with pytest.raises(UsageError):
        violations(text, KNOWN)
