"""``cubingate schema``: print the JSON Schema of matrix.yaml, for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.commands.options import add_output, emit
from pipeline.errors import ExitStatus

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Print the schema."""
    import json

    from pipeline.matrix.schema import json_schema

    emit(arguments, json.dumps(json_schema(), indent=1, ensure_ascii=True))
    return ExitStatus.PASS
