"""What one job hands to the next: an artifact that is believed only with the digest that GitHub brings another way.

An artifact ``NAME`` holds ``seals/NAME.sha256``, which names every other file of it with its SHA-256; the digest of
that list is an output of the job. Whoever can replace an artifact between two jobs cannot replace the output.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.evidence.sigstore_bundle import SUFFIX
from pipeline.matrix.gpu_runs import run_label
from pipeline.policy import load_policy
from pipeline.stages.check import needs_gpu
from pipeline.workflow.outputs import lane_artifact, output_name, proof_artifact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipeline.policy import Policy

_SEALS = "seals"
_SUFFIX = ".sha256"
_CARRIED = ("lanes", "evidence")
_SLOT = "slot_"
_LANE, _PROOF = lane_artifact(""), proof_artifact("")


class Maker(Enum):
    """A job that seals, by how the names of its artifacts begin; none can vouch for those of another."""

    BUILT = _LANE
    PROVEN = _PROOF


def seal(name: str, state: Path) -> str:
    """Gather what artifact ``name`` is to hold in ``STATE/sealed/NAME``; return the job output, ``OUTPUT=DIGEST``.

    ``lane-ID`` holds the lane's folder and all evidence, ``prove-RUN`` the evidence that only such a GPU gives.
    ``UsageError`` for another name, ``InfrastructureError`` when the disk refuses.
    """
    if not _known(name):
        raise UsageError(f"{name!r} is not an artifact of this workflow", remedy=f"{_LANE}ID, or {_PROOF}RUN")
    folder, policy = state / "sealed" / name, load_policy()
    try:
        shutil.rmtree(folder, ignore_errors=True)
        carried = [path for path in _files(state, *(state / room for room in _CARRIED)) if _belongs(path, name, policy)]
        for path in carried:
            _link(state / path, folder / path)
        lines = "".join(f"{file_sha256(folder / path)}  {path}\n" for path in carried)
        (folder / _SEALS).mkdir(parents=True, exist_ok=True)
        (folder / _SEALS / f"{name}{_SUFFIX}").write_text(lines, encoding="utf-8")
    except OSError as error:
        raise InfrastructureError.of(error) from error
    return f"{output_name(name)}={hashlib.sha256(lines.encode()).hexdigest()}"


def unseal(state: Path, outputs: Mapping[Maker, str]) -> tuple[str, ...]:
    """Hold what lies in ``state`` against the ``outputs`` of jobs (JSON objects); return what there is to tell.

    ``CorruptInput`` for a file anywhere in ``state`` that no sealed list names, that is not what the list says, or that
    such an artifact has no business to bring; and for a list whose digest no job handed on. What never came is no error
    here: the gate finds it missing.
    """
    vouched, policy = _vouched(outputs), load_policy()
    named: set[str] = set()
    told = []
    for place in sorted((state / _SEALS).glob(f"*{_SUFFIX}")):
        name = place.name.removesuffix(_SUFFIX)
        listed = set(_opened(place, name, vouched.pop(output_name(name), None), policy))
        told.append(f"{name}: {len(listed)} files as they were sealed")
        named |= {*listed, f"{_SEALS}/{place.name}"}
    # All of it: a tool or a source that was planted in the cache would be run by the steps that follow.
    for path in _files(state, state):
        if str(path) not in named:
            raise CorruptInput(f"{path} came with no seal", remedy="an artifact was changed: run the workflow again")
    return (*told, *(f"{name}: never came" for name in sorted(vouched)))


def _vouched(outputs: Mapping[Maker, str]) -> dict[str, str]:
    vouched: dict[str, str] = {}
    for maker, written in outputs.items():
        try:
            values = json.loads(written)
        except ValueError as error:
            raise UsageError(f"the outputs of a job are not JSON: {error}") from error
        if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
            raise UsageError("a job's outputs are not an object of strings", remedy="use toJSON(needs.JOB.outputs)")
        for name, value in values.items():
            artifact, digest = _vouch(name, value)
            if not digest:
                continue
            if not artifact.startswith(output_name(maker.value)):
                raise CorruptInput(f"{artifact} is not for that job to vouch for", remedy="look at who ran it")
            if vouched.setdefault(artifact, digest) != digest:
                raise CorruptInput(f"two jobs vouch for {artifact}", remedy="an artifact was changed")
    return vouched


def _vouch(name: str, value: str) -> tuple[str, str]:
    """An output named for its artifact, or a slot: a workflow that others call does not know its lanes' names."""
    if not name.startswith(_SLOT):
        return name, value
    artifact, _, digest = value.partition("=")
    return artifact, digest


def _opened(place: Path, name: str, digest: str | None, policy: Policy) -> Iterator[str]:
    """The path of each file of artifact ``name``, all of them checked."""
    remedy = "an artifact was changed: run the workflow again"
    if digest is None:
        raise CorruptInput(f"no job vouches for artifact {name}", remedy=remedy)
    content = _read(place)
    if hashlib.sha256(content).hexdigest() != digest:
        raise CorruptInput(f"artifact {name} is not what its job sealed", remedy=remedy)
    for line in content.decode("utf-8", "replace").split("\n")[:-1]:
        sha256, _, path = line.partition("  ")
        if not _belongs(PurePosixPath(path), name, policy):
            raise CorruptInput(f"artifact {name} brings {path}, which is not for it to bring", remedy=remedy)
        file = place.parent.parent / path
        if file.is_symlink() or not file.is_file() or file_sha256(file) != sha256:
            raise CorruptInput(f"{path} is not what artifact {name} was sealed with", remedy=remedy)
        yield path


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise InfrastructureError.of(error) from error


def _known(name: str) -> bool:
    prefix = next((prefix for prefix in (_LANE, _PROOF) if name.startswith(prefix)), None)
    return prefix is not None and PurePosixPath(name).name == name and name != prefix


def _belongs(path: PurePosixPath, name: str, policy: Policy) -> bool:
    """Whether artifact ``name`` may bring ``path``: a GPU runner can say nothing but what its GPU answers."""
    parts = path.parts
    if path.is_absolute() or ".." in parts or len(parts) < 3:
        return False
    if parts[0] == "lanes":
        return name == lane_artifact(parts[1])
    if parts[0] != "evidence":
        return False
    if len(parts) == 3:
        return parts[2].endswith(SUFFIX)  # signatures say nothing themselves, and are verified by the gate
    return len(parts) == 4 and _may_say(name, parts[2], policy)


def _may_say(name: str, check: str, policy: Policy) -> bool:
    """Whether ``check`` is for that job to record: of two machines that saw the same, the later hides the other."""
    if not needs_gpu(check):
        return name.startswith(_LANE)
    seen, promised = run_label(name.removeprefix(_PROOF)), check.partition("@")[2]
    return name.startswith(_PROOF) and policy.proves(seen, promised)


def _files(state: Path, *rooms: Path) -> list[PurePosixPath]:
    """Every file (or link) in ``rooms``, relative to ``state``."""
    found = (path for room in rooms for path in room.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(PurePosixPath(path.relative_to(state).as_posix()) for path in found)


def _link(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, place)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, place)
