"""How each bundle came about: SLSA provenance (https://slsa.dev/provenance/v1), an in-toto statement to a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.attest.materials import materials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.attest.materials import Material
    from pipeline.gate import Approved
    from pipeline.model.evidence import Evidence

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:cubingate:build:v1"
BUILDER = "urn:cubingate:builder"


def provenance(approved: Sequence[Approved]) -> str:
    """One statement for each bundle, in their order; the same evidence makes the same text."""
    return "".join(json.dumps(_statement(item), sort_keys=True) + "\n" for item in approved)


def _statement(item: Approved) -> dict[str, Any]:
    return {
        "_type": STATEMENT,
        "subject": [{"name": item.artifact.path.name, "digest": {"sha256": item.artifact.sha256}}],
        "predicateType": PREDICATE,
        "predicate": {"buildDefinition": _definition(item), "runDetails": _run(item)},
    }


def _definition(item: Approved) -> dict[str, Any]:
    lane = item.verdict.lane
    return {
        "buildType": BUILD_TYPE,
        "externalParameters": {
            "lane": lane.id,
            "bundle": {"name": lane.bundle.name, "version": lane.bundle.version},
            "flavour": lane.flavour.value,
            "platform": lane.platform.value,
            "archs": [arch.cmake for arch in lane.archs],
            "compression": lane.compression.value if lane.compression else None,
        },
        "internalParameters": {"recipeDigest": item.artifact.recipe_digest},
        "resolvedDependencies": [_dependency(material) for material in materials(lane)],
    }


def _dependency(material: Material) -> dict[str, Any]:
    digest = {"sha256": material.sha256, "gitCommit": material.commit}
    return {
        "name": material.name,
        "uri": material.uri or material.purl,
        **({"digest": known} if (known := {name: value for name, value in digest.items() if value}) else {}),
    }


def _run(item: Approved) -> dict[str, Any]:
    records = [check.evidence for check in item.verdict.checks if check.evidence is not None]
    runs = sorted({record.origin.run for record in records if record.origin.run is not None})
    return {
        "builder": {"id": BUILDER, "version": {"cubingate": __version__}},
        "metadata": {**({"invocationId": runs[0]} if runs else {}), **_times(item.verdict.built)},
        "byproducts": [_byproduct(record) for record in records],
    }


def _times(built: Evidence | None) -> dict[str, str]:
    """When it was built, where a record of that counts."""
    return {"startedOn": built.started, "finishedOn": built.finished} if built is not None else {}


def _byproduct(record: Evidence) -> dict[str, Any]:
    """Which checks the bundle passed, where: what makes it more than something that was built."""
    machine = record.machine
    return {
        "name": record.check,
        "annotations": {
            "outcome": record.outcome.status.value,
            "finished": record.finished,
            "device": machine.target or machine.device,
            "gpu": machine.gpu,
            "policy": record.origin.policy,
        },
    }
