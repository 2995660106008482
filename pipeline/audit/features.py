"""What a library can no longer do on a target: the kernels of containers that do not load there, by group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.rules.kernel_view import contents_by_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.model.finding import Finding
    from pipeline.model.paths import MemberPath
    from pipeline.rules.kernel_view import Contents
    from pipeline.rules.subject import Load, Subject


def with_features(findings: Sequence[Finding], subject: Subject) -> tuple[Finding, ...]:
    """The findings, those about device code with the kernels that die by them, where kernels were read."""
    dying = _dying(subject)
    return tuple(_named(finding, dying) for finding in findings) if dying else tuple(findings)


def _named(finding: Finding, dying: Mapping[tuple[str, str], dict[str, set[str]]]) -> Finding:
    found = dying.get((finding.rule, finding.observed), {})
    groups = {
        name
        for library, names in found.items()
        if finding.path == library or finding.path.startswith(f"{library}!/")
        for name in names
    }
    return replace(finding, kernels=tuple(sorted(groups))) if groups else finding


def _dying(subject: Subject) -> dict[tuple[str, str], dict[str, set[str]]]:
    """Rule and observation → library → groups of kernels."""
    if not subject.inventories or not all(inventory.kernels for inventory in subject.inventories):
        return {}
    contents = contents_by_path(subject)
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for aim in subject.aims:
        for load in aim.loads:
            if load.selection.obstacles and not load.excused:
                obstacle = load.selection.obstacles[0]
                libraries = found.setdefault((obstacle.rule, obstacle.observed), {})
                libraries.setdefault(str(load.unit.library), set()).update(_groups(load, contents))
    return found


def _groups(load: Load, contents: Mapping[MemberPath, Contents]) -> Iterator[str]:
    """Groups of the kernels that any image of the containers has; only those that the host code launches, if known."""
    for path in load.unit.paths:
        container = contents[path]
        for entry in container.entries:
            for image in entry.nested or (entry,):
                for kernel in image.kernels or ():
                    if container.registered is None or kernel.name in container.registered:
                        yield group_of(kernel.name)
