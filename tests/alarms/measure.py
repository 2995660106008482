"""Every (library, target) pair of an artifact that any rule calls failing, without ``--kernels`` and with it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pipeline.audit.aims import aim_at
from pipeline.audit.run import read_or_damage
from pipeline.audit.wheel import requirements_of
from pipeline.model.paths import MemberPath
from pipeline.rules.declaration import HostFloor
from pipeline.rules.registry import RULES
from pipeline.rules.subject import Claim, Effect, Subject
from pipeline.rules.unit import units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.model.lane import Target
    from pipeline.policy import Policy

TARGETS = ("75@535", "80@535", "89@550", "90@580", "100@580", "120@580")
HOST = "glibc=2.31,cpu=x86-64-v2"
ARTIFACT = "(the artifact)"
_MOST_REASONS = 2


def measured(path: Path, policy: Policy) -> dict[str, Any]:
    """How many libraries there are, and the failing pairs under both ways of reading."""
    ways = {"plain": False, "kernels": True}
    subjects = {name: _subject(path, policy, kernels=kernels) for name, kernels in ways.items()}
    libraries = _libraries(subjects["plain"])
    code = {_inside(unit.library) for unit in subjects["plain"].units}
    return {
        "libraries": len(libraries),
        "with_device_code": len(code),
        **{name: list(_rows(subject, libraries)) for name, subject in subjects.items()},
    }


def _subject(path: Path, policy: Policy, *, kernels: bool) -> Subject:
    inventory = read_or_damage(path, deep=kernels, kernels=kernels)
    targets: list[Target] = [policy.parse_target(text) for text in TARGETS]
    device = units_of(inventory)
    return Subject(
        inventories=(inventory,),
        device=device,
        aims=tuple(aim_at(target, device.loaded, None, policy) for target in targets),
        policy=policy,
        host=HostFloor.parse(HOST),
        requirements=requirements_of(path),
    )


def _libraries(subject: Subject) -> set[str]:
    """Host files and what has device code; the objects of a static library are one."""
    found = [_archive(elf.path) for elf in subject.elves] + [unit.library for unit in subject.units]
    return {_inside(library) for library in found}


def _archive(path: MemberPath) -> MemberPath:
    place = next((place for place, part in enumerate(path.parts) if part.endswith(".a")), len(path.parts) - 1)
    return MemberPath(path.parts[: place + 1])


def _inside(library: MemberPath) -> str:
    return "!/".join(library.parts[1:]) or library.name


def _rows(subject: Subject, libraries: set[str]) -> Iterator[dict[str, Any]]:
    """One row for each library and rule, with the targets that it fails on and what was observed."""
    targets: dict[tuple[str, str], set[str]] = defaultdict(set)
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for claim in _failing(subject):
        key = (_owner(claim, libraries), claim.rule)
        targets[key] |= set(claim.targets)
        if (reason := _reason(claim)) not in reasons[key]:
            reasons[key].append(reason)
    for key in sorted(targets):
        library, rule = key
        ordered = [label for label in subject.labels if label in targets[key]]
        yield {"library": library, "rule": rule, "targets": ordered, "observed": _some(reasons[key])}


def _some(reasons: list[str]) -> str:
    more = f" and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    return "; ".join(reasons[:_MOST_REASONS]) + more


def _failing(subject: Subject) -> Iterable[Claim]:
    return (claim for rule in RULES for claim in rule.check(subject).claims if claim.effect is Effect.FAIL)


def _owner(claim: Claim, libraries: set[str]) -> str:
    inside = claim.path.partition("!/")[2]
    owners = [library for library in libraries if inside == library or inside.startswith(f"{library}!/")]
    return max(owners, key=len, default=ARTIFACT)


def _reason(claim: Claim) -> str:
    """What was observed; of a unit without a usable image only that, since lists of images are many."""
    return "nothing that the GPU can run" if claim.rule in {"arch-missing", "arch-suffix"} else claim.observed
