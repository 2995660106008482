"""One container to one worker: its answer, or what its silence or its end means."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.gpu.answer import Answer, NoAnswer
from pipeline.gpu.child import WorkerDeaf, WorkerLost, WorkerSilent
from pipeline.gpu.fault import INFRASTRUCTURE, fault

if TYPE_CHECKING:
    from pipeline.gpu.child import Child


def ask(child: Child, image: bytes, seconds: float) -> Answer:
    """Tell a worker that has nothing else to do a container, and wait for what comes of it."""
    try:
        with suppress(WorkerDeaf):  # its last words are heard next
            child.tell(image, seconds)
        return heard(child, seconds)
    except WorkerSilent:
        return silent(seconds)


def silent(seconds: float) -> Answer:
    """The answer of a worker that gave none in time."""
    return Answer(NoAnswer.TIMED_OUT, seconds, healthy=False, detail=f"no answer in {seconds:g} s")


def heard(child: Child, seconds: float) -> Answer:
    """What the worker says next, or how it ended; ``WorkerSilent``."""
    try:
        told = child.hear(seconds)
    except WorkerLost as lost:
        return Answer(NoAnswer.CRASHED, healthy=False, detail=str(lost))
    return Answer(
        result=str(told["result"]),
        seconds=float(told["seconds"]),
        jit_seconds=float(told["jit_seconds"]),
        healthy=bool(told.get("healthy", True)),
        detail=str(told.get("log", "")),
    )


def judged(first: Answer, last: Answer) -> Answer:
    """The answer of the process that had nothing before it, told together with a different one.

    ``InfrastructureError`` when it says that the device is at fault.
    """
    if last.result in INFRASTRUCTURE:
        remedy = "see what else uses it (nvidia-smi), then run again"
        raise fault(last.result, f"the GPU does not serve: {last.result}", remedy)
    if last.result == first.result:
        return last
    return replace(last, detail=f"{first.result} at first ({first.detail or 'no words'}); alone, {last.result}")
