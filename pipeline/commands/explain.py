"""``cubingate explain``: what a rule or CUDA error means, why it happens, what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.commands.options import add_format, add_output, emit, terminal_width
from pipeline.errors import ExitStatus

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """What to explain."""
    parser.add_argument("query", metavar="RULE|CUDA-ERROR", nargs="*", help="rule id; error number, name or text")
    parser.add_argument("--all", action="store_true", help="print every rule as one page of Markdown")
    add_format(parser)
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Look it up and print it; ``UsageError`` when there is nothing of that name."""
    if arguments.all:
        from pipeline.report.rules_markdown import rules_markdown

        emit(arguments, rules_markdown())
        return ExitStatus.PASS
    from pipeline.explain import explain
    from pipeline.policy import load_policy

    found = explain(" ".join(arguments.query), load_policy())
    if arguments.format == "json":
        from pipeline.report.explain_json import explanation_json

        emit(arguments, explanation_json(found))
    else:
        from pipeline.report.explain_text import explanation_text

        emit(arguments, explanation_text(found, width=terminal_width(arguments)))
    return ExitStatus.PASS
