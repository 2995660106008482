"""What tables say of GitHub: the actions that workflows may use, and the runners that are GitHub's own.

Each action is pinned by a commit that a public workflow uses, which the table names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.policy.tables import FOLDER, read_table
from pipeline.policy.unknown import InconsistentTables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_SOURCE = re.compile(r"https://github\.com/[^/]+/[^/]+/blob/[0-9a-f]{40}/\.github/\S+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Action:
    """One action at one version: ``name`` is ``owner/name``, ``source`` a public workflow that uses this commit."""

    name: str
    version: str
    commit: str
    source: str

    @property
    def uses(self) -> str:
        """What stands behind ``uses:``, with the version as a comment for people and for Dependabot."""
        return f"{self.name}@{self.commit} # {self.version}"


def load_actions(folder: Path = FOLDER) -> Mapping[str, Action]:
    """The table by name; ``InconsistentTables`` for a row without a whole commit or a cited workflow."""
    actions: dict[str, Action] = {}
    for row in read_table("actions", folder):
        if not _COMMIT.fullmatch(row["commit"]) or not _SOURCE.fullmatch(row["source"]) or row["action"] in actions:
            raise InconsistentTables(f"policy table actions: row {tuple(row.values())} pins nothing, or twice")
        actions[row["action"]] = Action(row["action"], row["version"], row["commit"], row["source"])
    return actions


def load_hosted(folder: Path = FOLDER) -> frozenset[str]:
    """Labels of the machines that GitHub starts for one job and throws away after it."""
    return frozenset(row["label"] for row in read_table("hosted_runners", folder))


@dataclass(frozen=True, slots=True)
class Known:
    """What a workflow is held against; it may call the ``cubingate`` (``OWNER/NAME@COMMIT``, or empty) as well."""

    actions: Mapping[str, Action]
    hosted: frozenset[str]
    cubingate: str = ""


def load_known(folder: Path = FOLDER, *, cubingate: str = "") -> Known:
    """Both tables, and the cubingate that is trusted."""
    return Known(load_actions(folder), load_hosted(folder), cubingate)
