"""What travels between jobs arrives as it was sealed, or not at all; run by the command, as the jobs do."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.street import Street, write_matrix

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LANES = [{"id": "one"}, {"id": "two.2"}]
GPU_CHECK = "smoke@80@535.288.01"
PROOF = "prove-sm80-535.288.01"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A checkout with what both build jobs uploaded, merged as download-artifact does, and their outputs."""
    street = write_matrix(tmp_path_factory.mktemp("build"), LANES)
    outputs: dict[str, str] = {}
    arrived = tmp_path_factory.mktemp("arrived")
    for path in street.folder.iterdir():
        shutil.copy(path, arrived)
    for lane in ("one", "two.2"):
        done = street.cubingate("run", "--lane", lane, "--part", "hosted")
        assert done.returncode == 0, done.stderr
        sealed = street.cubingate("workflow", "--seal", f"lane-{lane}")
        assert sealed.returncode == 0, sealed.stderr
        name, _, digest = sealed.stdout.strip().partition("=")
        outputs[name] = digest
        shutil.copytree(
            street.folder / ".cubingate" / "sealed" / f"lane-{lane}", arrived / ".cubingate", dirs_exist_ok=True
        )
    assert list(outputs) == ["lane_one", "lane_two_2"]
    return arrived, outputs


@pytest.fixture
def arrived(built: tuple[Path, dict[str, str]], tmp_path: Path) -> Street:
    shutil.copytree(built[0], tmp_path, dirs_exist_ok=True)
    return Street(tmp_path)


def unseal(street: Street, *outputs: dict[str, str]) -> tuple[int, str]:
    named = {name: json.dumps(each) for name, each in zip(("BUILT", "PROVEN"), outputs, strict=False)}
    done = street.cubingate("workflow", *(word for name in named for word in ("--unseal", name)), **named)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_what_was_sealed_is_judged_elsewhere(built: tuple[Path, dict[str, str]], arrived: Street) -> None:
    status, told = unseal(arrived, built[1], {"prove_x": ""})
    assert status == 0, told
    assert "lane-one: " in told
    assert arrived.cubingate("gate").returncode == 0
    done = arrived.cubingate("publish", "--dry-run", "--sums", "SHA256SUMS")
    assert done.returncode == 0, done.stderr
    (bundle,) = (arrived.folder / ".cubingate" / "lanes" / "one").glob("*.tar.gz")
    assert (arrived.folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()[0].endswith(f"  {bundle.name}")


def _first(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


def _changed(state: Path) -> None:
    _first(state, "lanes/one/*.tar.gz").write_bytes(b"other bytes")


def _swapped(state: Path) -> None:
    """A whole artifact of somebody else's, list and all."""
    _changed(state)
    seal = state / "seals" / "lane-one.sha256"
    seal.write_text(seal.read_text(encoding="utf-8").replace("0", "1"), encoding="utf-8")


def _added_evidence(state: Path) -> None:
    record = _first(state, "evidence/*/audit/*.json")
    shutil.copy(record, record.with_name("20990101T000000Z-0000000000000000.json"))


def _link(state: Path) -> None:
    bundle = _first(state, "lanes/one/*.tar.gz")
    bundle.rename(state / "elsewhere")
    bundle.symlink_to(state / "elsewhere")


def _stranger(state: Path) -> None:
    (state / "seals" / "lane-three.sha256").write_text("", encoding="utf-8")


def _removed(state: Path) -> None:
    _first(state, "evidence/*/audit/*.json").unlink()


def _tool(state: Path) -> None:
    """What a later step would run: only what was fetched by its digest is held against it again."""
    tool = state / "cache" / "tools" / "ptxas"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n", encoding="utf-8")


def _beside_the_lists(state: Path) -> None:
    (state / "seals" / "lane-one.txt").write_text("", encoding="utf-8")


def _linked_room(state: Path) -> None:
    (state / "lanes").rename(state.parent / "rooms")
    (state / "lanes").symlink_to(state.parent / "rooms", target_is_directory=True)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_changed, "is not what artifact lane-one was sealed with"),
        (_swapped, "artifact lane-one is not what its job sealed"),
        (_added_evidence, "came with no seal"),
        (_link, "is not what artifact lane-one was sealed with"),
        (_stranger, "no job vouches for artifact lane-three"),
        (_removed, "was sealed with"),
        (_tool, "cache/tools/ptxas came with no seal"),
        (_beside_the_lists, "seals/lane-one.txt came with no seal"),
        (_linked_room, "lanes came with no seal"),
    ],
)
def test_what_was_replaced_on_the_way_is_refused(
    built: tuple[Path, dict[str, str]], arrived: Street, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(arrived.folder / ".cubingate")
    status, words = unseal(arrived, built[1])
    assert (status, told in words) == (5, True), words


def test_an_artifact_that_never_came_is_told_and_then_missing(
    built: tuple[Path, dict[str, str]], arrived: Street
) -> None:
    state = arrived.folder / ".cubingate"
    (state / "seals" / "lane-one.sha256").unlink()
    shutil.rmtree(state / "lanes" / "one")
    status, told = unseal(arrived, built[1])
    assert (status, "lane_one: never came" in told) == (0, True)
    assert arrived.cubingate("gate").returncode == 1


def _record(state: Path, check: str) -> Path:
    """A record of ``check`` about the bundle of lane ``one``, of which unsealing looks at the name alone."""
    record = _first(state, "evidence/*/audit/*.json")
    proof = record.parents[1] / check / record.name
    proof.parent.mkdir()
    shutil.copy(record, proof)
    return proof


def test_a_gpu_runner_speaks_only_of_its_gpu(built: tuple[Path, dict[str, str]], arrived: Street) -> None:
    """Its artifact holds the records that only its GPU gives, and no list makes another kind of record its own.

    A machine with two GPUs sees what another run is to prove: its pass would hide the other's failure.
    """
    state = arrived.folder / ".cubingate"
    proof, same_branch = _record(state, GPU_CHECK), _record(state, "load@80@535.104.05")
    others = [_record(state, check) for check in ("smoke@90@535.288.01", "smoke@80@580.65.06", "smoke@80@x")]
    sealed = arrived.cubingate("workflow", "--seal", PROOF).stdout.strip().partition("=")
    folder = state / "sealed" / PROOF
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {*(str(path.relative_to(state)) for path in (proof, same_branch)), f"seals/{PROOF}.sha256"}
    for record in (proof, same_branch, *others):
        shutil.rmtree(record.parent)
    shutil.copytree(folder, state, dirs_exist_ok=True)
    shutil.rmtree(state / "sealed")  # another machine's
    assert unseal(arrived, built[1], {sealed[0]: sealed[2]})[0] == 0
    other = _record(state, "smoke@90@535.288.01")
    seal = state / "seals" / f"{PROOF}.sha256"
    line = f"{hashlib.sha256(other.read_bytes()).hexdigest()}  {other.relative_to(state)}\n"
    for lines in ((state / "seals" / "lane-one.sha256").read_text(encoding="utf-8"), line):
        seal.write_text(lines, encoding="utf-8")
        digest = hashlib.sha256(lines.encode()).hexdigest()
        status, told = unseal(arrived, built[1], {sealed[0]: digest})
        assert (status, "which is not for it to bring" in told) == (5, True), told


@pytest.mark.parametrize("outputs", [{"lane_one": "0"}, {"slot_0": "lane_one=0"}, {"slot_3": "lane_three=0"}])
def test_a_gpu_runner_vouches_for_no_bundle(
    built: tuple[Path, dict[str, str]], arrived: Street, outputs: dict[str, str]
) -> None:
    """Were it only where the job that builds left nothing."""
    status, told = unseal(arrived, built[1], outputs)
    assert (status, "is not for that job to vouch for" in told) == (5, True), told


def test_slots_carry_the_name_of_what_they_vouch_for(built: tuple[Path, dict[str, str]], arrived: Street) -> None:
    slots = {f"slot_{number}": f"{name}={digest}" for number, (name, digest) in enumerate(built[1].items())}
    assert unseal(arrived, {**slots, "slot_9": ""}, {"slot_0": ""})[0] == 0
    assert unseal(arrived, {**slots, "slot_9": f"lane_one={'0' * 64}"})[0] == 5


def test_names_and_outputs_that_no_job_has(arrived: Street) -> None:
    for name in ("lane-", "prove-", "other", "lane-../x", "lane-a/b"):
        assert arrived.cubingate("workflow", "--seal", name).returncode == 2
    for value in ("", "[]", '{"a": 1}', "{"):
        assert arrived.cubingate("workflow", "--unseal", "BUILT", BUILT=value).returncode == 2
    assert arrived.cubingate("workflow", "--unseal", "PROVEN").returncode == 2
    assert arrived.cubingate("workflow", "--unseal", "NOWHERE").returncode == 2


def test_slots_of_a_workflow_that_does_not_know_its_lanes(built: tuple[Path, dict[str, str]], arrived: Street) -> None:
    slots = {f"slot_{number}": f"{name}={digest}" for number, (name, digest) in enumerate(built[1].items())}
    assert unseal(arrived, {**slots, "slot_7": ""})[0] == 0
    status, told = unseal(arrived, {**slots, "slot_7": f"lane_one={64 * '0'}"})
    assert status == 5
    assert "two jobs vouch for lane_one" in told
    status, told = unseal(arrived, {"slot_0": slots["slot_0"]})
    assert status == 5
    assert "no job vouches for artifact lane-two.2" in told
