"""``docs/rules.md``: every rule's own documentation, in the order of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules import by_design, variants
from pipeline.rules.registry import RULES

if TYPE_CHECKING:
    from types import ModuleType

_HEAD = """# Rules

This page is printed from the docstrings of `pipeline/rules` (`cubingate explain --all > docs/rules.md`); a test holds
it to them. Each rule is one file there, and `cubingate explain RULE` prints the same text with what to change for ggml,
CMake, nvcc and torch.
"""


def rules_markdown() -> str:
    """The page."""
    parts = [_HEAD, *(f"## {rule.id}\n\n{rule.document}\n" for rule in RULES), "# What is not counted\n"]
    parts += [_heuristic("Absent by design", by_design), _heuristic("One build per CUDA version", variants)]
    return "\n".join(parts)


def _heuristic(title: str, module: ModuleType) -> str:
    return f"## {title}\n\n{(module.__doc__ or '').strip()}\n"
