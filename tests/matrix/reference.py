"""The key tables of docs/matrix.md, made from the schema; run as a module to print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.matrix import schema, sections
from pipeline.matrix.jit import JIT_SOURCE
from pipeline.matrix.publisher_forms import PUBLISHER
from pipeline.matrix.terms import EVIDENCE, SIGSTORE_IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.matrix.containers import Record

SETTINGS = schema.MATRIX_FILE.known["defaults"].kind.kind  # type: ignore[attr-defined]
PARTS: tuple[tuple[str, Record], ...] = (
    ("Top level", schema.MATRIX_FILE),
    ("`bundle`", sections.BUNDLE),
    *((f"`sources.NAME`: {shape.what}", shape) for shape in sections.SOURCE.shapes),
    ("`base_images.NAME`", sections.BASE_IMAGE),
    ("`recipes.NAME`", sections.RECIPE),
    ("`smoke.NAME`", sections.SMOKE),
    ("`smoke.NAME.model`", sections.MODEL),
    ("`smoke.NAME.budgets`", sections.BUDGETS),
    ("`targets.NAME`", sections.TARGET_DEFINITION),
    ("`jit_sources.NAME`", JIT_SOURCE),
    ("Lane settings: `defaults`, `flavours.FLAVOUR`, axes, `include`, `exclude`", SETTINGS),
    ("`waivers[]`", sections.WAIVER),
    ("`evidence`", EVIDENCE),
    ("`evidence.sigstore[]`", SIGSTORE_IDENTITY),
    *((f"`publishers.NAME`: {shape.what}", shape) for shape in PUBLISHER.shapes),
)


def tables() -> Iterator[str]:
    """The lines of all tables."""
    for title, record in PARTS:
        yield from (f"### {title}", "", "| key | | what |", "|---|---|---|")
        for key in record.keys:
            yield f"| `{key.name}` | {'required' if key.required else ''} | {_escaped(key.description)} |"
        yield ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print("\n".join(tables()))
