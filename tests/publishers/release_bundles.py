"""Bundles as lanes pack them, approved: what a registry's tests publish."""

from __future__ import annotations

import hashlib
import io
import tarfile
from typing import TYPE_CHECKING, Any

from pipeline.gate import Approved, approve, judge
from pipeline.model.artifact import Artifact
from tests.values import TERMS, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.lane import Lane

TIME = 1_700_000_000


def packed(path: Path, files: dict[str, bytes], *, writing: str = "w:gz", **changes: Any) -> Path:
    """A tar of these files."""
    with tarfile.open(path, writing) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(content), 0o755, TIME
            for key, value in changes.items():
                setattr(member, key, value)
            tar.addfile(member, io.BytesIO(content))
    return path


def bundle_of(folder: Path, lane: Lane, content: bytes = b"server") -> Path:
    """``server-1.0/bin/server``, the one program of the lane's smoke."""
    path = folder / f"{lane.id}.tar.gz"
    return packed(path, {"server-1.0/bin/server": content})


def approved_bundle(lane: Lane, path: Path, **document: Any) -> Approved:
    """This file as the lane's; ``document`` is the recorded audit's."""
    raw = path.read_bytes()
    artifact = Artifact(lane.id, path, hashlib.sha256(raw).hexdigest(), len(raw), "recipe")
    evidence = [record(lane, artifact, check) for check in lane.required if check != "audit"]
    evidence.append(record(lane, artifact, "audit", document=document))
    return approve(judge(lane, artifact, evidence, terms=TERMS))


def cpu_bundle(folder: Path, name: str, content: bytes = b"server") -> Approved:
    """A CPU lane's."""
    lane = cpu_lane(id=name)
    return approved_bundle(lane, bundle_of(folder, lane, content))


def cuda_bundle(folder: Path, floors: dict[str, str | None], content: bytes = b"server", **changes: Any) -> Approved:
    """A CUDA lane's whose audit found these lowest drivers by SM."""
    lane = cuda_lane(**{"required": ("audit",), **changes})
    targets = [{"sm": sm, "driver": "535.288.01", "minimum_driver": driver} for sm, driver in floors.items()]
    return approved_bundle(lane, bundle_of(folder, lane, content), targets=targets)
