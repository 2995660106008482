"""``compat.json``: what users of the published assets need to know, taken from the evidence and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.errors import CorruptInput
from pipeline.gate import Standing
from pipeline.model.arch import ArchKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import Approved, LaneVerdict


def compatibility(approved: Sequence[Approved]) -> dict[str, Any]:
    """The content of ``compat.json`` for these bundles, one row per asset.

    ``CorruptInput`` when the document of a recorded audit is not an audit's.
    """
    return {"assets": [_asset(item) for item in approved]}


def _asset(item: Approved) -> dict[str, Any]:
    lane = item.verdict.lane
    return {
        "file": item.artifact.path.name,
        "sha256": item.artifact.sha256,
        "size": item.artifact.size,
        "lane": lane.id,
        "bundle": {"name": lane.bundle.name, "version": lane.bundle.version},
        "flavour": lane.flavour.value,
        "platform": lane.platform.value,
        "toolkit": str(lane.toolkit) if lane.toolkit else None,
        "archs": {
            "real": [arch.name for arch in lane.archs if arch.kind is ArchKind.REAL],
            "virtual": [arch.name for arch in lane.archs if arch.kind is ArchKind.VIRTUAL],
        },
        "glibc": str(lane.host_glibc) if lane.host_glibc else None,
        "minimum_driver": {
            "inferred": _inferred_drivers(item.verdict),
            "proven": _proven_drivers(item.verdict),
        },
        **_serves(item.verdict),
        "targets": [target.to_json() for target in item.verdict.targets],
        "checks": {check.check: check.standing.value for check in item.verdict.checks},
    }


def _inferred_drivers(verdict: LaneVerdict) -> dict[str, str | None]:
    """The lowest driver per SM on which every fatbin loads, as the audit computed it."""
    for check in verdict.checks:
        if check.check == "audit" and check.evidence is not None:
            targets = check.evidence.document.get("targets", [])
            try:
                return {str(target["sm"]): target["minimum_driver"] for target in targets}
            except (KeyError, TypeError) as error:
                raise CorruptInput(
                    f"{verdict.lane.id}: the document of its audit on record is incomplete",
                    remedy="remove the record, and run the audit again",
                ) from error
    return {}


def _serves(verdict: LaneVerdict) -> dict[str, Any]:
    """How every GPU of the tables is served, as the audit on record has it; nothing where an older version made it."""
    for check in verdict.checks:
        if check.check == "audit" and check.evidence is not None and "serves" in check.evidence.document:
            return {"serves": check.evidence.document["serves"]}
    return {}


def _proven_drivers(verdict: LaneVerdict) -> dict[str, list[str]]:
    """The drivers per SM on which a proven target was seen."""
    proven: dict[str, list[str]] = {}
    for target in verdict.targets:
        if target.standing is Standing.PROVEN:
            drivers = proven.setdefault(str(target.target.sm), [])
            seen = (record.machine.driver for record in target.proofs)
            drivers += [driver for driver in dict.fromkeys(seen) if driver is not None and driver not in drivers]
    return proven
