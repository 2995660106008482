"""A lane for a GPU, and a runner that has one as far as a machine without one can: a stand-in driver that says so.

The library is the one that the tests of ``load`` use: it knows nothing of device code, and answers from a table.
"""

from __future__ import annotations

from tests.gpu import made, standin
from tests.workflow_runs.act import PATH
from tests.workflow_runs.repository import Json, lane

LABELS = ("self-hosted", "h200")
TARGETS: Json = {"h200": {"gpu": "H200", "sm": 90, "driver": standin.VERSION, "runner": list(LABELS)}}
TARGET = f"90@{standin.VERSION}"
RUN = f"sm90-{standin.VERSION}"
IMAGE = made.fatbin(made.cubin("90"))
"""The device code of the lane; its payload is zeros, so that no driver but the stand-in takes it."""


def gpu_lane(name: str = "gpu") -> Json:
    """A lane that is approved only when a GPU loaded it."""
    required = ["audit", f"load@{TARGET}"]
    return lane(
        name,
        flavour="cuda",
        toolkit="13.0.2",
        archs="90-real",
        driver_floor="580.65.06",
        targets=["h200"],
        required=required,
    )


def runner(driver: standin.StandIn, image: bytes, answer: str) -> dict[str, str]:
    """What the environment of a machine with such a GPU has: ``nvidia-smi`` and a driver, both stand-ins."""
    driver.answers(image, answer, answer, standin.NO_BINARY)
    tool = driver.folder / "tools" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "NVIDIA H200, {driver.uuid}, 9.0, {standin.VERSION}"\n', encoding="utf-8")
    tool.chmod(0o755)
    return {**driver.environment(), "PATH": f"{tool.parent}:{PATH}"}
