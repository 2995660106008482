"""``cubingate run``: plan → build → audit → smoke → gate, resumable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.commands.gate import gate_document
from pipeline.commands.surroundings import MOST_RETRIES, open_street, planned

if TYPE_CHECKING:
    import argparse

    from pipeline.errors import ExitStatus


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_lanes(parser)
    options.add_state(parser)
    options.add_sign(parser)
    parser.add_argument(
        "--retries",
        type=int,
        choices=range(MOST_RETRIES + 1),
        default=2,
        help="further looks, with pauses, at a check that the machine failed (default 2); a product's failure is final",
    )
    parser.add_argument(
        "--part",
        choices=("all", "hosted", "gpu"),
        default="all",
        help="do only this machine's part of a release: `hosted` builds and makes every check that needs no GPU, `gpu` "
        "makes those that a GPU of this machine proves; status 0 when all of that part passed",
    )
    options.add_format(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Run every selected lane, print the summary, answer with the gravest status."""
    from pipeline.report.gate_text import summary
    from pipeline.stages.run import Part, run_plan

    plan = planned(arguments)
    with open_street(arguments) as street:
        result = run_plan(plan, street, chosen=arguments.lane, part=Part(arguments.part))
    if arguments.format == "json":
        options.emit(arguments, gate_document(result.verdicts))
    else:
        options.emit(
            arguments,
            summary(result.verdicts, color=options.colored(arguments), width=options.terminal_width(arguments)),
        )
    return result.status
