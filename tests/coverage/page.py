"""The tables of docs/evidence/coverage.md out of what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
_LONGEST = 90


def page(text: str, packages: dict[str, Any]) -> str:
    """The page with fresh tables between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n" + "\n".join(tables(packages)) + f"\n\n{END}{after}"


def tables(packages: dict[str, Any]) -> Iterator[str]:
    """A summary, then a table for each artifact with something to judge."""
    yield "| artifact | libraries with device code | containers | partial coverages | kernels not everywhere |"
    yield "|---|---|---|---|---|"
    for name, found in packages.items():
        kernels = len({group for row in found["kernels"] for group in row["groups"]})
        yield f"| {name} | {found['libraries']} | {found['containers']} | {len(found['parts'])} | {kernels} groups |"
    for name, found in packages.items():
        if found["parts"] or found["kernels"]:
            yield from ("", f"### {name}", "")
            yield from _parts(found["parts"])
            yield from _kernels(found["kernels"])


def _parts(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield "| library | containers | images | lacks | rule says | judgement |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        yield (
            f"| `{row['library'].rpartition('/')[2]}` | {row['containers']} of {row['of']} | {_short(row['archs'])} "
            f"| {_numbers(row['missing'])} | {_said(row)} | {row['judgement']} |"
        )


def _said(row: dict[str, Any]) -> str:
    counted = [sm for sm in row["missing"] if sm not in row["by_design"]]
    if not counted:
        return "by design"
    return f"counts on {_numbers(counted)}" if row["by_design"] else "counts"


def _kernels(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield from ("", "| library | images | kernels that it lacks | the others have | told as | judgement |")
    yield "|---|---|---|---|---|---|"
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row["library"], *row["groups"], row["told_as"], row["judgement"]), []).append(row)
    for group in alike.values():
        yield _kernel_row(group[0], ", ".join(dict.fromkeys(row["image"] for row in group)))


def _kernel_row(row: dict[str, Any], images: str) -> str:
    groups = ", ".join(f"`{group}`" for group in row["groups"][:3])
    more = f" and {len(row['groups']) - 3} more groups" if len(row["groups"]) > 3 else ""
    return (
        f"| `{row['library'].rpartition('/')[2]}` | {images.replace('cubin for ', '')} "
        f"| {row['kernels']}: {groups}{more} | {', '.join(row['holders'])} | {row['told_as']} | {row['judgement']} |"
    )


def _numbers(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def _short(text: str) -> str:
    text = text.replace("sm_", "").replace(" | ", "; ")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
