"""The tables of docs/evidence/wheels.md, out of docs/evidence/wheels.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
_AGREES = {True: "yes", False: "**no**", None: ""}


def tables(document: dict[str, Any]) -> str:
    """One table for each package, in order, with a line under it for each disagreement."""
    return "\n".join(line for package in document["packages"] for line in _package(package)).strip() + "\n"


def page(before: str, document: dict[str, Any]) -> str:
    """The page with its tables replaced."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables(document)}\n{END}{tail}"


def _package(package: dict[str, Any]) -> Iterator[str]:
    yield f"### {package['package']} {package['version']}"
    yield ""
    if package["host_libraries"]:
        yield f"Users install beside it: {', '.join(f'`{name}`' for name in package['host_libraries'])}."
        yield ""
    yield "| target | answer | fatbins | lowest driver | known | agrees |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, package["targets"])
    yield ""
    for row in package["targets"]:
        if row["explained"]:
            yield f"- `{row['target']}`: {row['explained']}."
    yield ""


def _row(row: dict[str, Any]) -> str:
    answer = row["verdict"] + (f": `{row['causes'][0]}`" if row["causes"] else "")
    declared = f"<br>`by_design: {' '.join(row['by_design'])}`" if row["by_design"] else ""
    known = "<br>".join(f"{'works' if it['works'] else 'fails'}: {it['says']} ({it['source']})" for it in row["known"])
    cells = (
        f"`{row['target']}`{declared}",
        answer,
        _served(row["fatbins"]),
        row["minimum_driver"] or row["minimum_driver_reason"],
        known or "nothing found",
        _AGREES[row["agrees"]],
    )
    return f"| {' | '.join(cells)} |"


def _served(count: dict[str, int]) -> str:
    words = (("native", "native"), ("jit", "JIT"), ("by_design", "by design"), ("unloadable", "unloadable"))
    return ", ".join(f"{count[key]} {word}" for key, word in words if count[key]) or "none asked"
