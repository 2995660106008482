"""The device that a load was asked for, found among those that the driver shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.gpu.greeting import DeviceFacts

_FORM = re.compile(r"(?:cuda:)?(?P<index>[0-9]{1,4})|(?P<uuid>(?:GPU|MIG)-[0-9A-Za-z/-]{4,80})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Selector:
    """A device by index among the visible ones, or by the UUID of a GPU or MIG slice."""

    index: int | None
    uuid: str | None

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Read ``0``, ``cuda:0``, ``GPU-…`` or ``MIG-…``; ``UsageError`` otherwise."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(f"--device {text}: neither an index nor a UUID", remedy="such as 0, GPU-… or MIG-…")
        return cls(None if match["index"] is None else int(match["index"]), match["uuid"])

    def __str__(self) -> str:
        return str(self.index) if self.uuid is None else self.uuid


def environment_for(selector: Selector, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that show the driver the device: a MIG slice is only seen when it is named.

    Indices are those of nvidia-smi unless the caller's variables say otherwise.
    """
    chosen = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **environment}
    if selector.uuid is not None:
        chosen["CUDA_VISIBLE_DEVICES"] = selector.uuid
    return chosen


def find_device(selector: Selector, devices: tuple[DeviceFacts, ...]) -> DeviceFacts:
    """The device that was asked for; ``InfrastructureError`` when it is not here."""
    if selector.uuid is None:
        found = [device for device in devices if device.index == selector.index]
    else:
        # The driver takes a UUID's beginning too, and the older name of a slice, and then shows that device alone.
        alone = len(devices) == 1 and selector.uuid.startswith("MIG-GPU-")
        found = [device for device in devices if alone or device.identity.startswith(selector.uuid)]
        parents = [device for device in devices if device.slice_uuid and device.uuid == selector.uuid]
        if parents and not found:
            slices = ", ".join(device.slice_uuid for device in parents)
            raise InfrastructureError(
                f"--device {selector}: this GPU is divided by MIG", remedy=f"name one of its slices: {slices} …"
            )
    if not found:
        there = ", ".join(f"{device.index} ({device.name})" for device in devices)
        raise InfrastructureError(f"--device {selector}: not on this machine, which shows {there}")
    return found[0]
