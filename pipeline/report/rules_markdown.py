"""``docs/rules.md``: the text of everything that has an id, in the order in which it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.explain.topic import Asked
from pipeline.explain.topics import TOPICS
from pipeline.rules import by_design, variants

if TYPE_CHECKING:
    from types import ModuleType

_HEAD = """# Rules

This page is printed by `cubingate explain --all > docs/rules.md`; a test holds it to that. Each rule of the audit is
one file of `pipeline/rules` and its docstring; after them come the rules of a comparison and the lints of a plan.
`cubingate explain RULE` prints the same text with what to change for ggml, CMake, nvcc and torch.
"""
_LOSSES = """# What a comparison calls a loss

`cubingate diff` and the check `diff` of a lane ([diff.md](diff.md)).
"""
_LINTS = """# What the plan lint says

`cubingate plan` says these under ids of its own. `fatbin-codec`, `ptx-isa` and others of the audit mean there what they
mean above, foreseen ([matrix.md](matrix.md#plan-lint)).
"""


def rules_markdown() -> str:
    """The page."""
    parts = [_HEAD, *_of(Asked.AUDIT), "# What is not counted\n"]
    parts += [_heuristic("Absent by design", by_design), _heuristic("One build per CUDA version", variants)]
    return "\n".join([*parts, _LOSSES, *_of(Asked.DIFF), _LINTS, *_of(Asked.PLAN)])


def _of(asked: Asked) -> list[str]:
    return [f"## {topic.id}\n\n{topic.document}\n" for topic in TOPICS if topic.asked is asked]


def _heuristic(title: str, module: ModuleType) -> str:
    return f"## {title}\n\n{(module.__doc__ or '').strip()}\n"
