"""The device that a smoke was asked for, found on this machine."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.machine import InstalledGpu

_DEVICE = re.compile(r"cpu|cuda(?::(?P<index>[0-9]{1,4}))?|(?P<uuid>(?:GPU|MIG)-\S+)", re.ASCII)


def find_device(asked: str, installed: Callable[[], Sequence[InstalledGpu]]) -> InstalledGpu | None:
    """The GPU for ``cuda``, ``cuda:N`` or a UUID; ``None`` for ``cpu``.

    ``UsageError`` for anything else, ``InfrastructureError`` when this machine has no such GPU.
    """
    match = _DEVICE.fullmatch(asked)
    if match is None:
        raise UsageError(f"--device {asked}: neither cpu, cuda, cuda:N nor a GPU's UUID")
    if asked == "cpu":
        return None
    gpus = installed()
    if not gpus:
        raise InfrastructureError(
            f"--device {asked}: this machine has no working NVIDIA GPU", remedy="a smoke on the CPU is --device cpu"
        )
    found = [gpu for gpu in gpus if _is_asked(gpu, match["index"], match["uuid"])]
    if not found and asked.startswith("MIG-") and len(gpus) == 1:
        return replace(gpus[0], uuid=asked)  # nvidia-smi's query lists whole GPUs only
    if not found:
        there = ", ".join(f"cuda:{gpu.index} {gpu.uuid}" for gpu in gpus)
        raise InfrastructureError(f"--device {asked}: not on this machine, which has {there}")
    return found[0]


def _is_asked(gpu: InstalledGpu, index: str | None, uuid: str | None) -> bool:
    if uuid is not None:
        return gpu.uuid == uuid
    return gpu.index == int(index or 0)
