"""Applies every rule to what was found and draws the conclusions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.audit.aims import aim_at
from pipeline.audit.conclude import findings, outcome, target_report
from pipeline.audit.distributions import distribution_reports, library_reports
from pipeline.audit.floors import minimum_driver
from pipeline.audit.report import AuditedArtifact, AuditReport, Examined
from pipeline.audit.wheel import nested_requirements
from pipeline.formats.facts import LOCK, OTHER_IMAGE, Codec, EntryKind
from pipeline.formats.recognize import UNENTERED
from pipeline.model.finding import Outcome, Status
from pipeline.rules.registry import RULES
from pipeline.rules.subject import Subject
from pipeline.rules.unit import Units, units_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.audit.kernels import KernelReport
    from pipeline.formats.facts import Inventory
    from pipeline.model.distribution import Distribution
    from pipeline.model.finding import Finding
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.assembly import Rehearsal
    from pipeline.rules.declaration import Declaration, HostFloor
    from pipeline.rules.registry import Rule
    from pipeline.rules.subject import Claim, Examination

PAYLOAD = "payload"
_TOLD = 5


def audit_artifacts(
    inventories: Sequence[Inventory],
    targets: Sequence[Target],
    declaration: Declaration | None,
    host: HostFloor | None,
    policy: Policy,
    *,
    requirements: tuple[str, ...] = (),
    rehearsal: Rehearsal | None = None,
    rules: tuple[Rule, ...] = RULES,
) -> AuditReport:
    """Judge artifacts against targets, a lane's declaration and a host floor; pure, no I/O.

    ``requirements`` are the distributions that a wheel among the artifacts depends on, ``rehearsal`` what assemblers
    said about the PTX.
    """
    device = units_in(inventories)
    aims = tuple(aim_at(target, device.loaded, declaration, policy) for target in targets)
    distributions = _distributions(inventories)
    subject = Subject(
        inventories=tuple(inventories),
        device=device,
        aims=aims,
        policy=policy,
        declaration=declaration,
        host=host,
        requirements=(*requirements, *nested_requirements(inventories), *_locked(inventories, distributions)),
        distributions=distributions,
        rehearsal=rehearsal,
    )
    examinations = _examinations(subject, rules)
    claims = [claim for _, examination in examinations for claim in examination.claims]
    floors = {sm: minimum_driver(sm, device.loaded, declaration, policy) for sm in {aim.target.sm for aim in aims}}
    return AuditReport(
        artifacts=tuple(AuditedArtifact(item.root, item.sha256, item.size, item.format) for item in inventories),
        examined=_examined(inventories),
        targets=tuple(target_report(aim, claims, floors[aim.target.sm], policy) for aim in aims),
        outcomes=(*(outcome(rule, done) for rule, done in examinations), _payload_outcome(inventories)),
        findings=_findings(claims, subject),
        deep=all(inventory.deep for inventory in inventories),
        policy_date=policy.date,
        asked=bool(targets) or declaration is not None or host is not None,
        corrupt=any(claim.rule == "corrupt-input" for claim in claims),
        notes=(*_notes(device), *_other_images(inventories), *_unentered(inventories)),
        kernels=_kernels(subject),
        distributions=distribution_reports(subject, claims),
        libraries=tuple(library_reports(subject).values()),
        rehearsal=rehearsal,
    )


def _examinations(subject: Subject, rules: tuple[Rule, ...]) -> list[tuple[Rule, Examination]]:
    """What each rule found, and what assemblers found for it."""
    found = [(rule, rule.check(subject)) for rule in rules]
    if subject.rehearsal is None:
        return found
    from pipeline.rules.rehearsed import merged, rehearsed_claims

    rehearsed = rehearsed_claims(subject)
    return [(rule, replace(done, claims=merged(rule.id, done.claims, rehearsed))) for rule, done in found]


def _kernels(subject: Subject) -> KernelReport | None:
    """The kernels, ``None`` where they were not read, as in most runs."""
    if not _has_kernels(subject):
        return None
    from pipeline.audit.kernels import kernel_report

    return kernel_report(subject)


def _findings(claims: list[Claim], subject: Subject) -> tuple[Finding, ...]:
    """The findings, with the kernels that die by them where kernels were read."""
    if not _has_kernels(subject):
        return findings(claims)
    from pipeline.audit.features import with_features

    return with_features(findings(claims), subject)


def _has_kernels(subject: Subject) -> bool:
    return bool(subject.inventories) and all(inventory.kernels for inventory in subject.inventories)


def _distributions(inventories: Sequence[Inventory]) -> tuple[Distribution, ...]:
    """Those of every artifact; an editable installation whose folder is one of them is read."""
    if not any(inventory.metadata or inventory.links or inventory.format == LOCK for inventory in inventories):
        return ()
    from pipeline.environments import distributions_of  # most artifacts hold none

    places = [Path(inventory.root) for inventory in inventories]
    roots = tuple(str(path) for place in places for path in (place.absolute(), place.resolve()))
    return tuple(item for inventory in inventories for item in distributions_of(inventory, roots))


def _locked(inventories: Sequence[Inventory], distributions: Sequence[Distribution]) -> Iterator[str]:
    """What a lock file has installed side by side: each may leave libraries to the others."""
    roots = {inventory.root for inventory in inventories if inventory.format == LOCK}
    yield from (item.name for item in distributions if item.environment in roots)


def _other_images(inventories: Sequence[Inventory]) -> Iterator[str]:
    """Images in an index that were not judged."""
    for inventory in inventories:
        others = dict.fromkeys(item.what for item in inventory.opaque if item.what.startswith(OTHER_IMAGE))
        if others:
            yield f"{inventory.root}: not judged: {', '.join(others)}"


def _unentered(inventories: Sequence[Inventory]) -> Iterator[str]:
    """Archives of formats that are not read here: whatever is in them was not judged."""
    for inventory in inventories:
        found = [item for item in inventory.opaque if item.what in UNENTERED]
        if found:
            told = ", ".join(f"{item.path} ({item.what})" for item in found[:_TOLD])
            more = f" and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
            yield f"not looked into: {told}{more}"


def units_in(inventories: Sequence[Inventory]) -> Units:
    """The device code of all artifacts together."""
    each = [units_of(inventory) for inventory in inventories]
    return Units(
        loaded=tuple(unit for units in each for unit in units.loaded),
        empty=sum(units.empty for units in each),
        stubs=sum(units.stubs for units in each),
        relocatable=sum(units.relocatable for units in each),
        foreign=sum(units.foreign for units in each),
    )


def _examined(inventories: Sequence[Inventory]) -> Examined:
    kinds = [entry.kind for inventory in inventories for entry in inventory.entries]
    return Examined(
        members=sum(inventory.members for inventory in inventories),
        elf=sum(len(inventory.elves) for inventory in inventories),
        fatbins=sum(len(inventory.fatbins) for inventory in inventories),
        cubins=kinds.count(EntryKind.CUBIN),
        ptx=kinds.count(EntryKind.PTX),
    )


def _payload_outcome(inventories: Sequence[Inventory]) -> Outcome:
    """Whether compressed payloads were looked into: their headers alone do not show damage."""
    entries = [entry for inventory in inventories for entry in inventory.entries]
    packed = sum(1 for entry in entries if entry.codec is not Codec.NONE)
    unread = sum(1 for entry in entries if entry.kind is EntryKind.PTX and entry.text is None)
    if not packed and not unread:
        return Outcome(rule=PAYLOAD, status=Status.NOT_APPLICABLE, examined=0, reason="no compressed payload")
    if all(inventory.deep for inventory in inventories):
        return Outcome(rule=PAYLOAD, status=Status.PASS, examined=packed)
    texts = f", {unread} PTX texts not read for what they ask of a GPU" if unread else ""
    reason = f"payload not examined: {packed} compressed entries were judged by their headers{texts}; --deep reads them"
    return Outcome(rule=PAYLOAD, status=Status.SKIPPED, examined=0, reason=reason)


def _notes(device: Units) -> Iterator[str]:
    if device.stubs:
        yield f"{device.stubs} containers without kernels (link stubs, files without device code) do not count"
    if device.relocatable:
        yield f"{device.relocatable} relocatable containers are input of a device link, not loaded"
    if device.empty:
        yield f"{device.empty} empty containers"
    if device.foreign:
        yield f"{device.foreign} containers hold only kinds that the driver does not load (LTO-IR, Tile IR, other)"
