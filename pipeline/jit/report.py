"""What a lane's JIT sources amount to: verdicts by target, findings, and every compilation behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import ExitStatus
from pipeline.model.finding import Verdict

if TYPE_CHECKING:
    from pipeline.jit.compilation import Compilation
    from pipeline.model.finding import Finding, Outcome
    from pipeline.model.target import Target


@dataclass(frozen=True, slots=True)
class JitTarget:
    """The verdict for one target: the rules that decided, the errors that users would meet, the seconds they wait."""

    target: Target
    verdict: Verdict
    causes: tuple[str, ...]
    errors: tuple[str, ...]
    compilations: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The target's row, in the shape of an audit's."""
        return {
            "sm": str(self.target.sm),
            "driver": str(self.target.driver),
            "verdict": self.verdict.value,
            "errors": list(self.errors),
            "causes": list(self.causes),
            "compilations": self.compilations,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class JitReport:
    """Everything about one lane. Outcomes are one for each rule that said something, and ``jit`` over all."""

    lane: str
    compilations: tuple[Compilation, ...]
    targets: tuple[JitTarget, ...]
    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all targets; unknown where there is none."""
        found = {target.verdict for target in self.targets}
        return next((word for word in (Verdict.FAIL, Verdict.UNKNOWN) if word in found or not found), Verdict.PASS)

    @property
    def status(self) -> ExitStatus:
        """The exit status: only a pass for every target is one."""
        if not self.compilations:
            return ExitStatus.NOTHING_EXAMINED
        return ExitStatus.PASS if self.verdict is Verdict.PASS else ExitStatus.REFUSED

    def content(self) -> dict[str, Any]:
        """What its JSON document says: an audit of sources, with the compilations beside what an audit of bytes has."""
        return {
            "artifacts": [],
            "lane": self.lane,
            "examined": {"compilations": len(self.compilations)},
            "targets": [target.to_json() for target in self.targets],
            "outcomes": [outcome.to_json() for outcome in self.outcomes],
            "findings": [finding.to_json() for finding in self.findings],
            "jit": [compilation.to_json() for compilation in self.compilations],
        }
