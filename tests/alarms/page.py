"""The tables of docs/evidence/alarms.md out of what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.alarms.corpus import Class
from tests.alarms.measure import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
_LONGEST = 110
WAYS = {"plain": "headers only", "kernels": "with `--kernels`"}


def page(text: str, packages: dict[str, Any]) -> str:
    """The page with fresh tables between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n" + "\n".join(tables(packages)) + f"\n\n{END}{after}"


def pairs(found: dict[str, Any], way: str) -> dict[tuple[str, str], set[str]]:
    """The failing (library, target) pairs with the kinds of what makes them fail."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for row in found[way]:
        for target in row["targets"]:
            kinds.setdefault((row["library"], target), set()).add(row["kind"])
    return kinds


def undefended(found: dict[str, Any], way: str) -> int:
    """Pairs that fail for no reason that is right."""
    return sum(Class.RIGHT not in kinds for kinds in pairs(found, way).values())


def tables(packages: dict[str, Any]) -> Iterator[str]:
    """The ratio, a summary, then every alarm."""
    yield from _ratio(packages)
    yield from ("", "| package | libraries | pairs | failing | not defended | not defended with `--kernels` |")
    yield "|---|---|---|---|---|---|"
    for name, found in packages.items():
        failing = len(pairs(found, "plain"))
        numbers = (found["libraries"], found["libraries"] * len(TARGETS), failing)
        left = " | ".join(str(undefended(found, way) or "") for way in WAYS)
        yield f"| {name} | {' | '.join(map(str, numbers))} | {left} |"
    for name, found in packages.items():
        if found["plain"]:
            yield from ("", f"### {name}", "", "| libraries | rule | targets | observed | judgement |")
            yield "|---|---|---|---|---|"
            yield from _rows(found)


def _ratio(packages: dict[str, Any]) -> Iterator[str]:
    yield "| | pairs | called failing | without a reason that is right | of all pairs | of pairs with device code |"
    yield "|---|---|---|---|---|---|"
    every = sum(found["libraries"] for found in packages.values()) * len(TARGETS)
    code = sum(found["with_device_code"] for found in packages.values()) * len(TARGETS)
    for way, words in WAYS.items():
        failing = sum(len(pairs(found, way)) for found in packages.values())
        left = sum(undefended(found, way) for found in packages.values())
        yield f"| {words} | {every} | {failing} | {left} | {left / every:.2%} | {left / code:.2%} of {code} |"


def _rows(found: dict[str, Any]) -> Iterator[str]:
    """A row for all libraries that fail alike; what `--kernels` does not say is marked."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in found["plain"]:
        deep = any(other["library"] == row["library"] and other["rule"] == row["rule"] for other in found["kernels"])
        only = "" if deep else " (not with `--kernels`)"
        key = (f"`{row['rule']}`{only}", " ".join(row["targets"]), row["observed"], f"**{row['kind']}**: {row['why']}")
        alike.setdefault(key, []).append(row["library"].rpartition("/")[2])
    for (rule, targets, observed, judgement), libraries in alike.items():
        names = dict.fromkeys(libraries)
        some = ", ".join(f"`{name}`" for name in list(names)[:3]) + (
            f" and {len(names) - 3} more" if len(names) > 3 else ""
        )
        short = observed if len(observed) <= _LONGEST else f"{observed[:_LONGEST]}…"
        yield f"| {some} | {rule} | {targets} | {short} | {judgement} |"
