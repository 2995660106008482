"""Asks GitHub whether a runner exists for every set of labels that jobs will wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus
from pipeline.publishers.github_api import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.publishers.github_actions import GithubActions, Runner


@dataclass(frozen=True, slots=True)
class Served:
    """What GitHub answered, in lines, and what it means."""

    told: tuple[str, ...]
    status: ExitStatus


def served(wanted: Iterable[Sequence[str]], github: GithubActions, hosted: frozenset[str]) -> Served:
    """Whether each of the ``wanted`` sets of labels is carried in full by a runner that is there.

    ``hosted`` are labels of GitHub's own machines, which are always there. Where the runners of the organization may
    not be asked for, a label that no runner of the repository has is unknown, and no reason to stop: ``PASS``.
    ``Refusal`` where the repository's own may not.
    """
    asked = [labels for labels in dict.fromkeys(map(tuple, wanted)) if not (len(labels) == 1 and labels[0] in hosted)]
    if not asked:
        return Served(("only GitHub's own are asked for",), ExitStatus.PASS)
    runners, complete = _known(github)
    lost = [line for labels in asked for line in _lost(labels, runners)]
    if not lost:
        return Served((f"each of {len(asked)} sets of labels is served",), ExitStatus.PASS)
    if complete:
        return Served(tuple(lost), ExitStatus.REFUSED)
    return Served((*lost, "that of the organization's may be unknown: the token may not ask for them"), ExitStatus.PASS)


def _known(github: GithubActions) -> tuple[tuple[Runner, ...], bool]:
    """The runners that are known, and whether those are all."""
    own = github.runners()
    organization = github.organization()
    if not organization:
        return own, True
    try:
        return (*own, *github.runners_of(organization)), True
    except Refusal as refusal:
        if refusal.status not in {401, 403, 404}:
            raise
        return own, False


def _lost(labels: Sequence[str], runners: Sequence[Runner]) -> list[str]:
    fitting = [runner for runner in runners if {label.lower() for label in labels} <= runner.labels]
    if not fitting:
        return [f"nobody has a runner with the labels {', '.join(labels)}"]
    if not any(runner.online for runner in fitting):
        return [f"{', '.join(runner.name for runner in fitting)} with the labels {', '.join(labels)} is offline"]
    return []
