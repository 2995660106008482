"""JUnit XML as CI systems read it: a failure is the product's, an error says that nobody could look, skips say why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pipeline.report.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_TEXT = 8000
"""Characters below one case: CI systems keep the report whole in memory."""


class Ending(StrEnum):
    """How a case ended: the element below it, none where it passed."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """One test case. ``kind`` is the type of what went wrong, ``lines`` the text below it, ``seconds`` what it took."""

    classname: str
    name: str
    ending: Ending
    message: str = ""
    kind: str = ""
    lines: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases under one name, with what else is known of them."""

    name: str
    cases: tuple[Case, ...]
    properties: tuple[tuple[str, str], ...] = ()


def junit_xml(suites: Sequence[Suite]) -> str:
    """The document, in the dialect of the Jenkins xUnit plugin (``junit-10.xsd``), which pytest writes as well."""
    cases = [case for suite in suites for case in suite.cases]
    root = Element("testsuites", {"name": "cubingate", **_counts(cases)})
    for suite in suites:
        counts = {**_counts(suite.cases), "skipped": _count(suite.cases, Ending.SKIPPED)}
        element = SubElement(root, "testsuite", {"name": shown(suite.name), **counts})
        properties = SubElement(element, "properties")
        for name, value in suite.properties:
            SubElement(properties, "property", {"name": shown(name), "value": shown(value)})
        for case in suite.cases:
            _add(element, case)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add(suite: Element, case: Case) -> None:
    about = {"classname": shown(case.classname), "name": shown(case.name), "time": f"{case.seconds:.3f}"}
    element = SubElement(suite, "testcase", about)
    if case.ending is not Ending.PASSED:
        told = SubElement(element, case.ending.value, {"type": shown(case.kind), "message": shown(case.message)})
        told.text = _text(case.lines)


def _text(lines: Sequence[str]) -> str:
    """The lines that fit, then how many did not."""
    kept: list[str] = []
    left = MOST_TEXT
    for line in map(shown, lines):
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    if len(kept) < len(lines):
        kept.append(f"{len(lines) - len(kept)} more lines left out; JSON has all")
    return "\n".join(kept)


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": _count(cases, Ending.FAILURE),
        "errors": _count(cases, Ending.ERROR),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _count(cases: Sequence[Case], ending: Ending) -> str:
    return str(sum(case.ending is ending for case in cases))
