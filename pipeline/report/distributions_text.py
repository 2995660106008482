"""Distributions for people: which one fails on which target, the worst first; libraries where they differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pipeline.model.finding import Verdict
from pipeline.report.columns import columns
from pipeline.rules.nvidia import is_toolkit_library

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.audit.report import AuditReport, DistributionReport, DistributionVerdict, LibraryReport

_MOST_NAMED = 4
_MOST_ROWS = 40
_LOST = frozenset(("fails", "partly"))
_WORDS = {"by-design": "by design"}


def failing(report: AuditReport, label: str) -> str:
    """The distributions that decide a target's verdict, in a line; nothing where there is only one to speak of."""
    rows = [(item, row) for item in report.distributions for row in item.verdicts if row.target == label]
    bad = [(item, row) for item, row in rows if row.verdict is not Verdict.PASS]
    if len(rows) < 2 or not bad:
        return ""
    worst = [pair for pair in bad if pair[1].verdict is Verdict.FAIL] or bad
    named = [f"{item.distribution.label} ({', '.join(row.causes)})" for item, row in worst[:_MOST_NAMED]]
    more = f" and {len(worst) - _MOST_NAMED} more" if len(worst) > _MOST_NAMED else ""
    verb = "fails" if worst[0][1].verdict is Verdict.FAIL else "not decided"
    return f"{verb}: {', '.join(named)}{more}"


def distributions_text(report: AuditReport, *, width: int = 0) -> Iterator[str]:
    """The table distribution by target, where there is more than one distribution with something to judge."""
    judged = [item for item in report.distributions if item.verdicts and _worth_a_row(item)]
    if len(judged) < 2:
        return
    head = ["distribution", "CUDA", *(target.target.label for target in report.targets)]
    rows = [_row(item) for item in judged[:_MOST_ROWS]]
    yield from columns(head, rows, width=width)
    if len(judged) > _MOST_ROWS:
        yield f"{len(judged) - _MOST_ROWS} more (--format json has all)"
    others = len(report.distributions) - len(judged)
    if others:
        yield f"{others} more without device code or CUDA libraries"
    yield ""


def _worth_a_row(item: DistributionReport) -> bool:
    passed = all(row.verdict is Verdict.PASS for row in item.verdicts)
    return bool(item.libraries or item.majors) or not passed


def _row(item: DistributionReport) -> list[str]:
    toolkits = item.toolkits[-1] if item.toolkits else ""
    majors = " and ".join(map(str, item.majors))
    agree = len(item.majors) == 1 and toolkits.startswith(f"{majors}.")
    return [item.distribution.label, toolkits if agree else majors or "-", *(_cell(item, row) for row in item.verdicts)]


def _cell(item: DistributionReport, row: DistributionVerdict) -> str:
    word = row.verdict.value if row.verdict is Verdict.PASS else row.verdict.value.upper()
    floor = item.floors.get(int(row.target.partition("@")[0]))
    needs = f"{floor.driver}+" if floor is not None and floor.driver else ""
    needs = needs or ("no driver" if floor is not None and floor.reason == "none" else "")
    return " ".join(part for part in (word, ", ".join(row.causes), f"({needs})" if needs else "") if part)


def coverage_text(report: AuditReport, *, width: int = 0) -> Iterator[str]:
    """The table library by target, where some of the product's libraries serve a target that others do not."""
    labels = [target.target.label for target in report.targets]
    own = [library for library in report.libraries if not is_toolkit_library(library.path)]
    mixed = [label for label in labels if _is_mixed([library.fares.get(label, "") for library in own])]
    if not mixed:
        return
    worst = sorted(own, key=lambda library: -sum(library.fares.get(label) in _LOST for label in mixed))
    names = _names([library.path for library in own])
    rows = [
        [names[library.path], *(_fare(library, label) for label in mixed), archs_text(library.archs)]
        for library in worst[:_MOST_ROWS]
    ]
    yield from columns(["library", *mixed, "has"], rows, width=width)
    if len(worst) > _MOST_ROWS:
        yield f"{len(worst) - _MOST_ROWS} more (--format json has all)"
    if report.kernels is None:
        yield f"--kernels names the kernels that die{_alone(worst[0].path, report)}"
    yield ""


def archs_text(archs: Sequence[str]) -> str:
    """``sm_70 75 80, PTX 80``: the kind is said once."""
    real = [arch.removeprefix("sm_") for arch in archs if arch.startswith("sm_")]
    virtual = [arch.removeprefix("compute_") for arch in archs if arch.startswith("compute_")]
    parts = [f"sm_{' '.join(real)}" if real else "", f"PTX {' '.join(virtual)}" if virtual else ""]
    return ", ".join(part for part in parts if part)


def _is_mixed(fares: Sequence[str]) -> bool:
    return any(fare in _LOST for fare in fares) and any(fare in {"native", "jit"} for fare in fares)


def _fare(library: LibraryReport, label: str) -> str:
    fare = library.fares.get(label, "")
    return fare.upper() if fare in _LOST else _WORDS.get(fare, fare)


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Each library's own name, with as much of its folders as tells it from others; its whole path is in the JSON."""
    parts = {path: path.rpartition("!/")[2].split("/") for path in paths}
    names = {path: part[-1] for path, part in parts.items()}
    for length in range(2, max(map(len, parts.values()), default=0) + 1):
        known = Counter(names.values())
        names = {path: name if known[name] == 1 else "/".join(parts[path][-length:]) for path, name in names.items()}
    return names


def _alone(library: str, report: AuditReport) -> str:
    """Where a library lies in a folder, it can be read alone, which takes a fraction of the time."""
    root, _, below = library.partition("!/")
    folder = any(item.path == root and item.format == "directory" for item in report.artifacts)
    return f", fastest of one library: {root}/{below}" if folder and "!/" not in below else ""
