"""One page without scripts and without anything from elsewhere, out of the templates in ``templates/report/``."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline import __version__
from pipeline.model.finding import Severity
from pipeline.report.shown import shown, times
from pipeline.resources import find_resources

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Mark:
    """A word with its sign, and the class of its colour."""

    word: str
    shade: str


SEVERITIES = {
    Severity.ERROR: Mark("✕ error", "b"),
    Severity.WARNING: Mark("! warning", "w"),
    Severity.NOTE: Mark("i note", "i"),
}


def html_page(template: str, title: str, values: Mapping[str, Any]) -> str:
    """The page. Every text is escaped by jinja2 after ``shown`` made one clean line of it."""
    folder = find_resources().templates / "report"
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (folder / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template).render(
        title=title,
        version=__version__,
        style=Markup(style),  # noqa: S704 -- a file of this program, and the policy of the page holds its digest
        style_digest=f"sha256-{digest}",
        times=times,
        **values,
    )


def _clean(value: object) -> object:
    """What an expression of a template gives; texts that are markup already are this program's own."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value
