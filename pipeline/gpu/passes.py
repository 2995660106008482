"""The three passes side by side: each container is in all of them at once.

The workers are started before the rules are imported, which takes as long as a driver's start; so this module imports
them only where it needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.gpu.answer import SUCCESS
from pipeline.gpu.attempts import Attempts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from concurrent.futures import Executor, Future

    from pipeline.gpu.answer import Answer
    from pipeline.gpu.forecast import Container, Forecaster
    from pipeline.gpu.greeting import Greeting
    from pipeline.gpu.report import Observed
    from pipeline.gpu.settings import Limits
    from pipeline.rules.choice import JitPass

# What a caller's own variables must not decide.
_OURS = ("CUDA_DISABLE_PTX_JIT", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_FORCE_JIT", "CUDA_LAUNCH_BLOCKING")
# The cache is off in every pass: a hit would hide the JIT and its time, and our modules would push out the user's.
_ALWAYS = {"CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}
_DECIDES = "as-is"
# By the values of ``JitPass``.
VARIABLES: dict[str, dict[str, str]] = {
    "as-is": {},
    "jit-forbidden": {"CUDA_DISABLE_PTX_JIT": "1"},
    "jit-forced": {"CUDA_FORCE_PTX_JIT": "1"},
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A container on its way through the passes: its bytes and digest, and an answer to come from each pass."""

    container: Container
    image: bytes
    sha256: str
    answers: Mapping[JitPass, Future[Answer]]

    @property
    def done(self) -> bool:
        """Whether every pass has answered, or one can say no more."""
        return all(answer.done() for answer in self.answers.values()) or self.error is not None

    @property
    def error(self) -> BaseException | None:
        """Why a pass can say no more."""
        over = (answer.exception() for answer in self.answers.values() if answer.done())
        return next((error for error in over if error is not None), None)

    def observed(self, forecaster: Forecaster) -> Observed:
        """What happened; looked into where something failed that was not foreseen to."""
        from pipeline.gpu.report import Observed
        from pipeline.rules.choice import JitPass

        answers = {jit: self.answers[jit].result() for jit in JitPass}
        seen = Observed(self.container, self.sha256, answers)
        if seen.agrees is False and not all(answer.loaded for answer in answers.values()):
            return replace(seen, container=forecaster.deepened(self.container, self.image))
        return seen


@dataclass(frozen=True, slots=True)
class Passes:
    """One worker for each pass."""

    attempts: Mapping[str, Attempts]

    @classmethod
    def started(cls, environment: Mapping[str, str], limits: Limits, *, fresh: bool) -> Passes:
        """Start the three drivers at the same time; ``InfrastructureError`` when no process can be started."""
        kept = {name: value for name, value in environment.items() if name not in _OURS}
        return cls(
            {
                jit: Attempts({**kept, **_ALWAYS, **variables}, limits=limits, fresh=fresh, decides=jit == _DECIDES)
                for jit, variables in VARIABLES.items()
            }
        )

    def greeting(self) -> Greeting:
        """What they found; ``InfrastructureError`` when there is no driver, or it does not start."""
        first, *_ = [attempts.greeting() for attempts in self.attempts.values()]
        return first

    def use(self, device: int) -> None:
        """Have them open a device, without waiting for it."""
        for attempts in self.attempts.values():
            attempts.use(device)

    def prepare(self, containers: Iterable[Container]) -> None:
        """Start a second worker where something is foreseen to fail that is then repeated."""
        from pipeline.rules.choice import JitPass

        foreseen = [container.forecast for container in containers if container.forecast is not None]
        for name, attempts in self.attempts.items():
            if any(forecast.results[JitPass(name)] not in {None, SUCCESS} for forecast in foreseen):
                attempts.prepare()

    def serve(self, pool: Executor) -> tuple[Future[None], ...]:
        """Begin to load what is submitted, each pass in a thread of its own."""
        return tuple(pool.submit(attempts.serve) for attempts in self.attempts.values())

    def submit(self, container: Container, image: bytes) -> Loaded:
        """Load one container in every pass, after those that were submitted before."""
        import hashlib

        from pipeline.rules.choice import JitPass

        forecast = container.forecast
        expected = {jit: forecast.of(jit) if forecast else None for jit in JitPass}
        answers = {jit: self.attempts[jit].submit(image, expected[jit]) for jit in JitPass}
        return Loaded(container, image, hashlib.sha256(image).hexdigest(), answers)

    def finish(self) -> None:
        """Say that nothing more is submitted."""
        for attempts in self.attempts.values():
            attempts.finish()

    def stop(self) -> None:
        """Kill the workers, so that no thread waits for one any more."""
        for attempts in self.attempts.values():
            attempts.stop()

    def end(self) -> None:
        """Close them, when no thread uses one any more."""
        for attempts in self.attempts.values():
            attempts.end()
