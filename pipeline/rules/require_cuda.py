"""A container image that refuses the promised driver.

What: NVIDIA_REQUIRE_CUDA (or another NVIDIA_REQUIRE_ variable, or CUDA_VERSION alone in an old image) is not met on a
target: "cuda>=12.8" is held against the CUDA version that the driver reports, "driver" against the driver, "brand"
against the board that the target names. Where it hangs on the brand and the target names no board, nothing can be said.

Why: base images of NVIDIA set it to their own toolkit, and images built on them inherit it, whatever their code needs.
The container does not start: "requirement error: unsatisfied condition: cuda>=12.8". Runtimes check it in the legacy
and csv modes, and with CDI in newer versions.

Remedy: set NVIDIA_REQUIRE_CUDA to what the code needs (ENV NVIDIA_REQUIRE_CUDA=cuda>=12.0), build on the floor's own
base image, or set NVIDIA_DISABLE_REQUIRE=1.

Source: libnvidia-container, src/cli/dsl.c; nvidia-container-toolkit issues 24 and 1470; llama.cpp issue 9665.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ImageFacts
    from pipeline.rules.requirement import Machine
    from pipeline.rules.subject import Aim, Subject

RULE = "require-cuda"
_REMEDY = "set NVIDIA_REQUIRE_CUDA to what the code needs, or NVIDIA_DISABLE_REQUIRE=1"
_LONGEST = 120


def check(subject: Subject) -> Examination:
    """Every requirement of every image against every target."""
    images = [image for inventory in subject.inventories for image in inventory.images]
    if not images:
        return Examination(0, (), "no container image in the input")
    from pipeline.rules.requirement import requirements

    asked = [(image, name, value) for image in images for name, value in requirements(image.environment)]
    if not asked:
        return Examination(0, (), "the image requires nothing of a driver")
    if not subject.aims:
        return Examination(len(asked), (), "no target was named")
    claims = (claim for image, name, value in asked for claim in _claims(subject, image, name, value))
    return Examination(len(asked), tuple(claims))


def _claims(subject: Subject, image: ImageFacts, name: str, value: str) -> Iterator[Claim]:
    from pipeline.rules.requirement import Malformed, met

    for aim in subject.aims:
        if aim.doubt is not None:
            continue  # a driver or GPU outside the tables, told by another rule
        machines = list(_machines(subject, aim))
        told = f"{name}={value if len(value) <= _LONGEST else value[:_LONGEST] + ' …'}"
        try:
            answers = {met(value, machine) for machine in machines}
        except Malformed as error:
            yield _claim(image, aim, Effect.FAIL, f"{told}, of which the runtime cannot read {str(error)!r}")
            continue
        if answers == {False}:
            yield _claim(
                image, aim, Effect.FAIL, f"{told} is not met by a driver of CUDA {machines[0].cuda}{_able(aim)}"
            )
        elif False in answers:
            yield _claim(
                image, aim, Effect.DOUBT, f"{told} is met by some boards of sm_{aim.target.sm} and not by others"
            )


def _machines(subject: Subject, aim: Aim) -> Iterator[Machine]:
    """The target, once for each brand that its board may have."""
    from pipeline.rules.requirement import Machine

    cuda = str(subject.policy.cuda_of(aim.target.driver))
    arch = f"{aim.target.sm // 10}.{aim.target.sm % 10}"
    every = ("unknown", *(brand for row in subject.policy.boards for brand in row.brands))
    boards = subject.policy.boards_of(aim.target)
    for brand in dict.fromkeys(brand for board in boards for brand in (board.brands if board else every)):
        yield Machine(cuda, str(aim.target.driver), arch, brand)


def _able(aim: Aim) -> str:
    """What the image loses by it."""
    loads = [load for load in aim.loads if not load.excused]
    able = loads and all(load.selection.loads for load in loads)
    return ", although its device code loads there" if able else ""


def _claim(image: ImageFacts, aim: Aim, effect: Effect, observed: str) -> Claim:
    return Claim(
        rule=RULE,
        effect=effect,
        path=str(image.path),
        declared=f"driver {aim.target.driver}" + (f" on {aim.target.gpu}" if aim.target.gpu else ""),
        observed=observed,
        remedy=_REMEDY if effect is Effect.FAIL else "name the board: gpu: of the lane's target",
        targets=(aim.label,),
        group=str(image.path),
    )
