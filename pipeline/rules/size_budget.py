"""The asset is larger than its lane allows.

What: the artifacts of the audit are together larger than the lane's size_budget. The largest members are named, with
their unpacked sizes.

Why: registries and hosts refuse large files (GitHub releases: 2 GiB; package indexes: 100 MB unless granted more), and
every architecture in the list is paid for by every download.

Remedy: drop architectures that the lane does not promise, compress device code (--compress-mode), leave out static
libraries and what a driver or another package brings, or raise the budget.

Source: GitHub documentation, about releases; vLLM's wheel size check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.size import size_text
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.rules.subject import Subject

RULE = "size-budget"
_NAMED = 5


def check(subject: Subject) -> Examination:
    """The size of what was audited against the lane's budget."""
    budget = subject.declaration.size_budget if subject.declaration is not None else None
    if budget is None:
        return Examination(0, (), "the lane has no size_budget")
    size = sum(inventory.size for inventory in subject.inventories)
    if size <= budget:
        return Examination(len(subject.inventories))
    claim = Claim(
        rule=RULE,
        effect=Effect.FAIL,
        path=subject.inventories[0].root,
        declared=f"at most {size_text(budget)}",
        observed=f"{size_text(size)}; the largest members are {_largest(subject)}",
        remedy="drop what the lane does not promise, compress device code, or raise size_budget",
        targets=subject.labels,
    )
    return Examination(len(subject.inventories), (claim,))


def _largest(subject: Subject) -> str:
    sizes = [item for inventory in subject.inventories for item in inventory.files.items()]
    sizes.sort(key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name.rpartition('!/')[2]} ({size_text(size)})" for name, size in sizes[:_NAMED])
