"""Compares two artifacts by every rule: what a user of the old one loses with the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.kernels import kernel_groups
from pipeline.audit.report import AuditedArtifact
from pipeline.diff import device, host, kernels, sizes
from pipeline.diff.difference import Compared, Difference, outcome, told
from pipeline.errors import UsageError
from pipeline.model.lane import LOSSES
from pipeline.rules.host import HostOffer
from pipeline.rules.unit import units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.formats.facts import Inventory
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration


def compare(
    old: Inventory, new: Inventory, policy: Policy, *, declaration: Declaration | None = None, allow: Sequence[str] = ()
) -> Difference:
    """Compare two inventories; pure, no I/O. ``UsageError`` when ``allow`` names something that is no rule."""
    for rule in allow:
        if rule not in LOSSES:
            raise UsageError(f"{rule!r} is not a rule of a comparison", remedy=f"write some of {', '.join(LOSSES)}")
    code = device.DeviceCode(units_of(old), units_of(new), policy, declaration, new.root)
    offer = HostOffer.of(policy.host_libraries, declaration.host if declaration is not None else None)
    groups = kernel_groups((new,)) if new.kernels else ()
    floors, changed = code.floors(), sizes.size_pairs(old, new)
    compared = _merged(
        [
            *device.compare_floors(code, floors),
            device.compare_archs(code),
            device.compare_codecs(code, floors),
            kernels.compare_kernels(old, new, groups),
            *host.compare_host(old, new, offer),
            sizes.compare_sizes(old, new, changed),
        ]
    )
    return Difference(
        old=_artifact(old),
        new=_artifact(new),
        outcomes=tuple(outcome(item, allow) for item in compared),
        findings=tuple(finding for item in compared for finding in told(item, allow)),
        floors=floors,
        sizes=changed,
        corrupt=bool(old.damage or new.damage),
        examined=sum(len(item.elves) + len(item.fatbins) + len(item.bare) for item in (old, new)),
        kernels=groups,
    )


def _merged(parts: Iterable[Compared]) -> list[Compared]:
    """One result for each rule, in the order of ``LOSSES``."""
    found: dict[str, Compared] = {}
    for part in parts:
        before = found.get(part.rule, Compared(part.rule, 0))
        findings = (*before.findings, *part.findings)
        found[part.rule] = Compared(part.rule, before.examined + part.examined, findings, part.not_applicable)
    return [found[rule] for rule in LOSSES]


def _artifact(inventory: Inventory) -> AuditedArtifact:
    return AuditedArtifact(inventory.root, inventory.sha256, inventory.size, inventory.format)
