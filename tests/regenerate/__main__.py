"""Ask the tools of every toolkit wheel, print where the policy tables differ; status 1 where they do.

python -m tests.regenerate [--toolkit 12.8]… [--write] [--tables FOLDER]
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import CubingateError
from pipeline.policy import load_policy
from pipeline.policy.tables import FOLDER, read_table
from tests.regenerate.compare import Comparison, Tables, compare, comparison
from tests.regenerate.errors import error_cells, runtime_errors
from tests.regenerate.features import NEW, OLD, feature_cells
from tests.regenerate.measure import measure
from tests.regenerate.rewrite import rewrite
from tests.toolchain import TOOLKITS, ToolFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLES = ("toolkits", "ptx_minimum", "compression", "errors", "ptx_features")


def main(words: Sequence[str]) -> int:
    """0: every cell agrees; 1: some differ (and were not written); 2: usage; 4: a tool could not be asked."""
    arguments = _parser().parse_args(words)
    tables: Tables = {name: read_table(name, arguments.tables) for name in TABLES}
    try:
        done = ask(arguments.toolkit or list(TOOLKITS), tables)
    except ToolFailed as failure:
        print(failure, file=sys.stderr)
        return 4
    _tell(done)
    if not arguments.write:
        return 1 if done.differences else 0
    return _write(done, tables, arguments.tables)


def ask(toolkits: Sequence[str], tables: Tables) -> Comparison:
    """Measure and compare; each toolkit is named on stderr when it is done."""
    measurements = []
    for toolkit in toolkits:
        measurements.append(measure(toolkit))
        print(f"asked {toolkit}", file=sys.stderr, flush=True)
    cells = [*compare(measurements, tables).cells, *error_cells(runtime_errors(), tables["errors"])]
    if {OLD, NEW} <= set(toolkits):
        cells += feature_cells(tables["ptx_features"])
    return comparison(tuple(cells), tables)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.regenerate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--toolkit", action="append", choices=list(TOOLKITS), help="only this one (repeatable)")
    parser.add_argument("--write", action="store_true", help="rewrite what real tools can tell")
    parser.add_argument("--tables", type=Path, default=FOLDER, metavar="FOLDER", help="where the CSV tables are")
    return parser


def _tell(done: Comparison) -> None:
    for table in TABLES:
        cells = [cell for cell in done.cells if cell.table == table]
        wrong = sum(not cell.agrees for cell in cells)
        print(f"{table}.csv: {len(cells)} answers, {len(cells) - wrong} agree, {wrong} differ")
        if done.unasked.get(table):
            print(f"  not asked: {', '.join(done.unasked[table])}")
    for cell in done.cells:
        if not cell.agrees:
            print(cell)
        elif cell.oddity:
            print(f"  known oddity: {cell.tool} says {cell.measured} for {cell.key}, not {cell.stated}")


def _write(done: Comparison, tables: Tables, folder: Path) -> int:
    written, left = rewrite(done, tables, folder, dt.datetime.now(tz=dt.UTC).date().isoformat())
    for cell in written:
        print(f"written: {cell.table}.csv, {cell.key}: {cell.column} = {cell.measured}")
    for words in left:
        print(f"left: {words}")
    try:
        load_policy(folder)
    except CubingateError as error:
        print(f"the tables contradict each other now: {error}", file=sys.stderr)
        return 1
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
