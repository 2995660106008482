"""How templates of workflows are read: with delimiters of their own, so that GitHub's expressions stay readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipeline.workflow.actions import Action


def yaml_templates(folder: Path) -> Environment:
    """The templates of ``folder``; what is put into them has to pass through a filter that quotes for YAML."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 -- YAML is not HTML; the filter `text` quotes
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def pinned(actions: Mapping[str, Action]) -> Callable[[str], str]:
    """From an action's name to what stands behind ``uses:``. ``UsageError`` for one that the table does not have."""

    def uses(name: str) -> str:
        if name not in actions:
            raise UsageError(f"no public workflow is known that pins {name}", remedy="add a row to actions.csv")
        return actions[name].uses

    return uses
