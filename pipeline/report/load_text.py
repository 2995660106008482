"""A load for people: the machine, what loaded and how, what did not, and loudly where the rules were wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pipeline.gpu.forecast import Role
from pipeline.model.finding import Verdict
from pipeline.report.color import paint
from pipeline.rules.choice import JitPass, Via

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.gpu.report import LoadReport, Observed

_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.UNKNOWN: "yellow"}
_PASSES = {JitPass.AS_IS: "as it is", JitPass.FORBIDDEN: "JIT forbidden", JitPass.FORCED: "JIT forced"}
_MOST = 20


def load_text(report: LoadReport, *, color: bool) -> str:
    """Lines for a terminal or a log."""
    return "\n".join((*_head(report), *_answers(report, color=color), *_misses(report), *_tail(report))) + "\n"


def _head(report: LoadReport) -> Iterator[str]:
    machine = report.machine
    yield f"{report.artifact}  {report.format}, {report.size / 1e6:.3g} MB  sha256 {report.sha256[:12]}…"
    yield f"  {machine.gpu}, sm_{machine.sm}, driver {machine.driver} (CUDA {machine.cuda}), {machine.libcuda}"
    if machine.shadowed:
        yield f"  forward compatibility: this libcuda is not that of the kernel module ({machine.module or 'unknown'})"
    yield ""


def _answers(report: LoadReport, *, color: bool) -> Iterator[str]:
    served = Counter(item.via for item in report.observed)
    words = [f"{served[via]} {what}" for via, what in ((Via.CUBIN, "native"), (Via.JIT, "by JIT")) if served[via]]
    total = len(report.observed)
    verdict = paint(report.verdict.value.upper(), _STYLES[report.verdict], color=color)
    yield f"{verdict}  {', '.join([*words, f'{len(report.missing)} missing'])} of {total} containers"
    for jit, name in _PASSES.items():
        yield f"  {name:<13}  {_counted(item.answers[jit].result for item in report.observed)}"
    agree = sum(item.agrees is True for item in report.observed)
    yield f"  {'foreseen':<13}  {agree} of {total} as the rules said (policy of {report.policy_date})"
    longest = max((item.jit_seconds or 0.0 for item in report.observed), default=0.0)
    if served[Via.JIT]:
        whole = sum(item.jit_seconds or 0.0 for item in report.observed)
        yield f"  {'JIT time':<13}  {whole:.1f} s in all, {longest:.1f} s the longest, cache cold"
    yield ""


def _counted(results: Iterable[str]) -> str:
    return ", ".join(f"{count} {result}" for result, count in Counter(results).most_common())


def _misses(report: LoadReport) -> Iterator[str]:
    for item in report.missing[:_MOST]:
        yield f"error[load] {item.result}{_why(item)}"
        yield f"  at  {item.path}"
    if len(report.missing) > _MOST:
        yield f"… and {len(report.missing) - _MOST} more (--format json has all of them)"
    for damage in report.damage[:_MOST]:
        yield f"error[corrupt-input] {damage.path}: {damage.what}"
    yield from disagreements(report)


def _why(item: Observed) -> str:
    detail = item.answers[JitPass.AS_IS].detail
    known = item.container.forecast.why if item.container.forecast else ""
    words = "; ".join(word for word in (known, " ".join(detail.split())[:300]) if word)
    return f": {words}" if words else ""


def disagreements(report: LoadReport) -> tuple[str, ...]:
    """One line for each container on which the driver contradicts the rules: an error of this program."""
    found = report.disagreements
    lines = [_contradiction(item) for item in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"DISAGREEMENT in {len(found) - _MOST} more containers (--format json has all of them)")
    if found:
        lines.append("a rule of this program is wrong, or what answered is not this driver: please report it")
    return tuple(lines)


def _contradiction(item: Observed) -> str:
    forecast = item.container.forecast
    wrong = [
        f"{_PASSES[jit]}: foreseen {forecast.of(jit)}, observed {item.answers[jit].result}"
        for jit in JitPass
        if forecast is not None and forecast.of(jit) not in {None, item.answers[jit].result}
    ]
    if not wrong and forecast is not None:
        wrong = [f"foreseen to be served by {forecast.via}, observed {item.via}"]
    return f"DISAGREEMENT {'; '.join(wrong)} ({item.path}, sha256 {item.sha256})"


def _tail(report: LoadReport) -> Iterator[str]:
    left_out = Counter(item.role for item in report.left_out)
    for role, words in (
        (Role.RELOCATABLE, "relocatable containers are input of a device link, not loaded"),
        (Role.EMPTY, "empty containers, not loaded"),
        (Role.FOREIGN, "containers of kinds that the driver does not load (LTO-IR, Tile IR, other)"),
    ):
        if left_out[role]:
            yield f"note: {left_out[role]} {words}"
    stubs = sum(item.container.role is Role.LINK_STUB for item in report.observed)
    if stubs:
        yield f"note: {stubs} kernel-less containers of the device linker need not load"
    for fault in report.faults:
        yield f"note: tried again after: {fault}"
    inside = ", ".join(f"{seconds:.1f}" for seconds in report.driver_seconds.values())
    yield f"{report.seconds:.1f} s; inside the driver {inside} s in the three passes, which run side by side"
