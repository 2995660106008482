"""Machines with the answers that the facts give, for this installer and for those in other languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pipeline.audit.served import served_by
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.image import Codec, EntryKind
from pipeline.model.paths import MemberPath
from pipeline.model.served import Service
from pipeline.model.target import Flavour, Platform
from pipeline.model.versions import GlibcVersion, PtxVersion
from pipeline.pick import Choice, Fit, Host, HostGpu, Release, choose
from pipeline.pick.read import read_release
from pipeline.pick.served import INTEGRATED
from pipeline.policy import Policy, load_policy
from pipeline.rules.unit import Image, Unit

ROOT = Path(__file__).resolve().parents[2]
DATA = json.loads((ROOT / "tests" / "data" / "pick" / "vectors.json").read_text(encoding="utf-8"))
LEAST = 40


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def release(name: str) -> Release:
    return read_release(json.dumps(DATA["releases"][name]).encode(), name)


def host(machine: dict[str, Any], policy: Policy) -> Host:
    targets = [policy.parse_target(text) for text in machine["gpus"]]
    glibc = GlibcVersion(machine["glibc"]) if machine["glibc"] else None
    gpus = tuple(HostGpu(target.sm, target.driver) for target in targets)
    known = machine["platform"] in set(Platform)
    return Host(Platform(machine["platform"]) if known else machine["platform"], glibc, gpus)


def answer(choice: Choice) -> dict[str, Any]:
    """What a vector expects: the worst of the GPUs that the pick serves, and what the nearest asset asks for."""
    served = choice.picked.served if choice.picked else ()
    worst = max((gpu.basis for gpu in served), key=lambda basis: basis.rank, default=None)
    how = {gpu.row.service for gpu in served}
    service = Service.JIT if Service.JIT in how else next(iter(how), None)
    return {
        "pick": name(choice.picked),
        "basis": worst,
        "served": service,
        "nearest": name(choice.nearest),
        "needs": sorted({obstacle.need.value for obstacle in choice.nearest.reasons}) if choice.nearest else [],
    }


def name(fit: Fit | None) -> str | None:
    return fit.asset.file if fit else None


@pytest.mark.parametrize("vector", DATA["vectors"], ids=lambda vector: vector["why"])
def test_a_machine_gets_the_answer_of_the_facts(vector: dict[str, Any], policy: Policy) -> None:
    choice = choose(release(vector["release"]), host(vector["machine"], policy))
    assert answer(choice) == vector["expected"]


def test_there_are_enough_machines() -> None:
    machines = {json.dumps(vector["machine"]) for vector in DATA["vectors"]}
    assert len(machines) >= LEAST


@pytest.mark.parametrize("content", DATA["releases"].values(), ids=DATA["releases"])
def test_the_releases_fit_the_published_schema(content: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "docs" / "compat.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(content, schema)


PTX = {"11.8": "7.8", "12.8.1": "8.7", "13.0": "9.0"}


def units(asset: Any) -> tuple[Unit, ...]:
    """One container as the asset's toolkit makes it."""
    place = MemberPath(("libk.so",))
    major, packed = asset.toolkit.major, Codec.ZSTD if asset.toolkit.major >= 13 else Codec.NONE
    images = []
    for arch in asset.archs:
        if arch.kind is ArchKind.VIRTUAL:
            images.append(Image(EntryKind.PTX, arch, packed, ptx=PtxVersion(PTX[str(asset.toolkit)])))
        else:
            abi = 8 if major >= 13 or arch.number >= 100 else 7
            images.append(Image(EntryKind.CUBIN, arch, Codec.NONE, abi=abi, majors=(major,)))
    return (Unit(place, place, tuple(images)),)


def test_the_rows_of_the_release_are_what_the_auditor_says(policy: Policy) -> None:
    compared = 0
    for asset in release("full").assets:
        if asset.flavour is Flavour.CPU or asset.serves is None:
            continue
        seen = [(row.sm, row.service, row.minimum_driver, row.last_branch, row.tegra) for row in asset.serves.gpus]
        rows = served_by(units(asset), None, policy)
        assert [(row.sm, row.service, row.minimum_driver, row.last_branch, row.tegra) for row in rows] == seen, asset
        compared += 1
    assert compared == 5


def test_the_integrated_gpus_are_those_of_the_tables(policy: Policy) -> None:
    assert {row.gpu.number for row in policy.gpus if row.gpu.tegra} == INTEGRATED


def test_suffixed_code_stays_on_its_gpu() -> None:
    from pipeline.pick.served import _by_architecture

    real = (TargetArch.of("90a", ArchKind.REAL), TargetArch.of("120f", ArchKind.VIRTUAL))
    assert [_by_architecture(real, sm) for sm in (90, 95, 120, 123)] == [
        Service.NATIVE, Service.NONE, Service.JIT, Service.NONE,
    ]  # fmt: skip
