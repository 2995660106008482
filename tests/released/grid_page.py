"""docs/evidence/wheels-grid.md, out of docs/evidence/wheels-grid.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """# Released wheels, GPU by GPU and driver by driver

Ten wheels, eight GPUs, three driver branches (each its first toolkit driver), audited header-only, beside what their
makers document. Made by `python -m tests.released.grid --write`; the same as data, with document and version for each
cell: [wheels-grid.json](wheels-grid.json). Nothing here was run on a GPU.

**{agree} cells agree, {differ} differ (each explained), {unjudged} are unjudged**: no document was found for them.
A cell has the verdict and its first cause; **bold** differs from the documents, *italic* is unjudged.
"""


def page(document: dict[str, Any]) -> str:
    """The whole page."""
    lines = [_HEAD.format(**document["counts"])]
    for package in document["packages"]:
        lines.extend(_package(package))
    return "\n".join(lines).rstrip() + "\n"


def _package(package: dict[str, Any]) -> Iterator[str]:
    cells = package["cells"]
    drivers = list(dict.fromkeys(cell["driver"] for cell in cells))
    yield f"## {package['package']} {package['version']}\n"
    if package["host_libraries"]:
        yield f"Installed beside it: {', '.join(f'`{name}`' for name in package['host_libraries'])}.\n"
    yield f"| | {' | '.join(f'R{driver}' for driver in drivers)} |"
    yield f"|---|{'---|' * len(drivers)}"
    for sm in dict.fromkeys(cell["sm"] for cell in cells):
        yield f"| sm_{sm} | {' | '.join(_cell(cell) for cell in cells if cell['sm'] == sm)} |"
    yield ""
    yield from _notes(package)


def _notes(package: dict[str, Any]) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    why: dict[str, list[str]] = {}
    for cell in package["cells"]:
        place = f"{cell['sm']}@{cell['driver']}"
        for it in cell["documented"]:
            said.setdefault(_statement(it), []).append(place)
        if cell["explained"]:
            passes = " With `by_design` it passes." if cell["declared"] == "pass" else ""
            why.setdefault(f"{cell['explained']}.{passes}", []).append(place)
    yield from (f"- {text}: {_places(places)}" for text, places in said.items())
    if package["by_design"]:
        yield f"- `by_design` that a lane would declare: {', '.join(f'`{name}`' for name in package['by_design'])}"
    yield from (f"- **Differs** on {_places(places)}: {text}" for text, places in why.items())
    if package["remark"]:
        yield f"- {package['remark']}"
    yield ""


def _cell(cell: dict[str, Any]) -> str:
    text = str(cell["verdict"]) + (f" `{cell['causes'][0]}`" if cell["causes"] else "")
    if cell["agrees"] is None:
        return f"*{text}*"
    return text if cell["agrees"] else f"**{text}**"


def _statement(said: dict[str, Any]) -> str:
    title = f"{said['document']}, {said['version']}"
    source = f"[{title}]({said['address']})" if said["address"] else title
    return f"{'works' if said['works'] else 'fails'}: {said['says']} ({source})"


def _places(places: list[str]) -> str:
    drivers: dict[str, list[str]] = {}
    for place in places:
        sm, _, driver = place.partition("@")
        drivers.setdefault(sm, []).append(driver)
    groups: dict[str, list[str]] = {}
    for sm, found in drivers.items():
        groups.setdefault(", ".join(f"R{it}" for it in found), []).append(sm)
    return "; ".join(f"{', '.join(f'sm_{sm}' for sm in sms)} on {found}" for found, sms in groups.items())
