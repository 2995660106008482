"""What a load found, as values: each container with what was foreseen and what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import ExitStatus
from pipeline.gpu.answer import JIT_DISABLED, SUCCESS, NoAnswer
from pipeline.gpu.forecast import Role
from pipeline.model.finding import Verdict
from pipeline.rules.choice import JitPass, Via

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.formats.facts import Damage
    from pipeline.gpu.answer import Answer
    from pipeline.gpu.forecast import Container
    from pipeline.gpu.machine import LoadMachine
    from pipeline.model.paths import MemberPath

_FIELDS = {JitPass.AS_IS: "result", JitPass.FORBIDDEN: "jit_forbidden", JitPass.FORCED: "jit_forced"}


@dataclass(frozen=True, slots=True)
class Observed:
    """One container that was given to the driver: its digest, what was foreseen, and what each pass answered."""

    container: Container
    sha256: str
    answers: Mapping[JitPass, Answer]

    @property
    def path(self) -> MemberPath:
        """Where it lies."""
        return self.container.path

    @property
    def result(self) -> str:
        """What the driver answered as it is."""
        return self.answers[JitPass.AS_IS].result

    @property
    def via(self) -> Via | None:
        """What served it: told by the pass that forbids JIT; ``None`` when nothing did, or the passes contradict."""
        if not self.answers[JitPass.AS_IS].loaded:
            return None
        forbidden = self.answers[JitPass.FORBIDDEN]
        if forbidden.loaded:
            return Via.CUBIN
        return Via.JIT if forbidden.result == JIT_DISABLED else None

    @property
    def jit_seconds(self) -> float | None:
        """Seconds that the JIT took, cache cold, by its own word or else the call's; ``None`` where it was idle."""
        answer = self.answers[JitPass.AS_IS]
        return (answer.jit_seconds or answer.seconds) if self.via is Via.JIT else None

    @property
    def agrees(self) -> bool | None:
        """Whether all that was foreseen happened; ``None`` when nothing was foreseen."""
        forecast = self.container.forecast
        known = [jit for jit in JitPass if forecast is not None and forecast.of(jit) is not None]
        if forecast is None or not known:
            return None
        served = self.via is None or forecast.via is self.via
        return served and all(self.answers[jit].result == forecast.of(jit) for jit in known)

    @property
    def missing(self) -> bool:
        """Whether it does not load and somebody needs it: neither a stub without kernels nor absent by design."""
        forecast = self.container.forecast
        by_design = forecast is not None and forecast.by_design and self.agrees is not False
        return self.result != SUCCESS and not by_design and self.container.role is not Role.LINK_STUB

    def to_json(self) -> dict[str, Any]:
        """The contract's row, with what each pass was foreseen to answer, the digest and the seconds."""
        forecast = self.container.forecast
        foreseen = {jit: forecast.of(jit) if forecast else None for jit in JitPass}
        answers = {_FIELDS[jit]: answer for jit, answer in self.answers.items()}
        return {
            "path": str(self.path),
            "sha256": self.sha256,
            "size": self.container.size,
            "role": self.container.role.value,
            **{name: answer.result for name, answer in answers.items()},
            "via": self.via.value if self.via else None,
            "predicted": foreseen[JitPass.AS_IS],
            "predicted_jit_forbidden": foreseen[JitPass.FORBIDDEN],
            "predicted_jit_forced": foreseen[JitPass.FORCED],
            "agrees": self.agrees,
            "by_design": bool(forecast and forecast.by_design),
            "why": forecast.why if forecast else "",
            "jit_seconds": None if self.jit_seconds is None else round(self.jit_seconds, 6),
            "seconds": {name: round(answer.seconds, 6) for name, answer in answers.items()},
            "detail": {name: answer.detail for name, answer in answers.items() if answer.detail},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """Everything a load says. ``left_out`` are the containers that no program gives to a driver.

    ``seconds`` is the wall time of everything, the driver's start included. ``faults`` are the failures of the device
    or its driver after which all was tried again.
    """

    artifact: str
    sha256: str
    size: int
    format: str
    machine: LoadMachine
    observed: tuple[Observed, ...]
    left_out: tuple[Container, ...]
    damage: tuple[Damage, ...]
    policy_date: str
    seconds: float
    faults: tuple[str, ...] = ()

    @property
    def driver_seconds(self) -> dict[JitPass, float]:
        """The time inside the driver's load calls, by pass."""
        return {jit: sum(item.answers[jit].seconds for item in self.observed) for jit in JitPass}

    @property
    def missing(self) -> tuple[Observed, ...]:
        """Containers that do not load and are needed."""
        return tuple(item for item in self.observed if item.missing)

    @property
    def disagreements(self) -> tuple[Observed, ...]:
        """Containers for which the rules foresaw something else than what happened."""
        return tuple(item for item in self.observed if item.agrees is False)

    @property
    def verdict(self) -> Verdict:
        """``fail`` when something needed does not load; ``unknown`` when it all does and the rules contradict.

        A rule that a driver contradicts leaves in doubt either the rule or what answered as this driver, so it is
        no pass.
        """
        if self.missing or self.damage:
            return Verdict.FAIL
        untried = any(answer.result == NoAnswer.NOT_TRIED for item in self.observed for answer in item.answers.values())
        return Verdict.UNKNOWN if self.disagreements or untried or not self.observed else Verdict.PASS

    @property
    def status(self) -> ExitStatus:
        """The exit status that the contract gives this report."""
        if self.damage:
            return ExitStatus.CORRUPT_INPUT
        if not self.observed:
            return ExitStatus.NOTHING_EXAMINED
        return ExitStatus.PASS if self.verdict is Verdict.PASS else ExitStatus.REFUSED

    def to_json(self) -> dict[str, Any]:
        """The contract's ``load`` document without its head."""
        agree = sum(item.agrees is True for item in self.observed)
        return {
            "artifact": {"path": self.artifact, "sha256": self.sha256, "size": self.size, "format": self.format},
            "machine": self.machine.to_json(),
            "verdict": self.verdict.value,
            "examined": {
                "loaded": len(self.observed),
                "missing": len(self.missing),
                "agree": agree,
                "disagree": len(self.disagreements),
                "undecided": len(self.observed) - agree - len(self.disagreements),
                "left_out": len(self.left_out),
            },
            "policy_date": self.policy_date,
            "seconds": round(self.seconds, 3),
            "driver_seconds": {_FIELDS[jit]: round(value, 3) for jit, value in self.driver_seconds.items()},
            "containers": [item.to_json() for item in self.observed],
            "left_out": [
                {"path": str(item.path), "role": item.role.value, "size": item.size} for item in self.left_out
            ],
            "faults": list(self.faults),
            "damage": [{"path": str(item.path), "what": item.what} for item in self.damage],
        }
