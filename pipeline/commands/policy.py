"""``cubingate policy``: the facts that verdicts rest on, with their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.commands.options import add_format, add_output, emit
from pipeline.errors import ExitStatus, UsageError
from pipeline.policy.tables import NAMES, OTHERS, read_table

if TYPE_CHECKING:
    import argparse

    from pipeline.policy.tables import Row


def configure(parser: argparse.ArgumentParser) -> None:
    """Which table."""
    parser.add_argument("table", metavar="TABLE", nargs="?", help=f"one of: {', '.join((*NAMES, *OTHERS))}")
    add_format(parser)
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Check the tables, then print the list of them or one of them."""
    from pipeline.policy import load_policy

    policy = load_policy()
    if arguments.table is not None and arguments.table not in (*NAMES, *OTHERS):
        raise UsageError(f"{arguments.table!r} is not a policy table", remedy=f"tables: {', '.join((*NAMES, *OTHERS))}")
    chosen = {name: read_table(name) for name in (*NAMES, *OTHERS) if arguments.table in {None, name}}
    if arguments.format == "json":
        from pipeline.model.document import document

        emit(arguments, document("policy", {"date": policy.date, "tables": chosen}))
    elif arguments.table is None:
        emit(arguments, _overview(chosen, policy.date))
    else:
        emit(arguments, _table(chosen[arguments.table], {row["id"]: row["title"] for row in read_table("sources")}))
    return ExitStatus.PASS


def _overview(tables: dict[str, list[Row]], date: str) -> str:
    lines = [f"{name:<22} {len(rows):>4} rows: {', '.join(rows[0])}" for name, rows in tables.items()]
    return "\n".join((*lines, f"policy of {date}; `cubingate policy TABLE` prints one"))


def _table(rows: list[Row], titles: dict[str, str]) -> str:
    """The rows in aligned columns, the sources spelled out below."""
    columns = list(rows[0])
    widths = [max(len(column), *(len(row[column]) for row in rows)) for column in columns]
    lines = ["  ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip()]
    lines += [
        "  ".join(row[column].ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip()
        for row in rows
    ]
    cited = dict.fromkeys(identifier for row in rows for identifier in row.get("source", "").split())
    lines += ["", *(f"{each}: {titles[each]}" for each in cited if each in titles)] if cited else []
    return "\n".join(lines)
