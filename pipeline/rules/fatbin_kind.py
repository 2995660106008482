"""Device code inside a kind of entry that the driver does not read.

What: the images lie in a concatenated container (entry kind 256, fatbinary --concat, toolkit 13.4 on), and the driver
is older than the first that may know it; or nothing else in the container serves the GPU and there is an entry of a
kind that no known tool writes, which is "unknown".

Why: an older driver skips the entry as if it were not there, so users see "no kernel image is available for execution
on the device" (209) although the right cubin is in the file. NVIDIA documents no driver for it: R580 was measured not
to read it, and the linker library of 13.2 is the first that does, so newer drivers are "unknown", not "pass".

Remedy: leave out --concat.

Source: measured: H200 with driver 580.159.04; nvJitLink 12.4 to 13.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.formats.facts import EntryKind
from pipeline.rules.device import Told, examine_device
from pipeline.rules.obstacle import Certainty, Obstacle

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.subject import Aim, Examination, Subject
    from pipeline.rules.unit import Image

RULE = "fatbin-kind"
_ERROR = "CUDA_ERROR_NO_BINARY_FOR_GPU"


def may_read(image: Image, driver: DriverVersion, policy: Policy) -> bool:
    """Whether ``driver`` may know this kind of entry."""
    floor = policy.kind_row(image.kind).driver_floor
    return floor is None or driver >= floor


def obstacle(image: Image, driver: DriverVersion, policy: Policy) -> Obstacle | None:
    """Whether ``driver`` does not see what is inside ``image``, or is not known to."""
    if image.kind is not EntryKind.CONCATENATED:
        return None
    if may_read(image, driver, policy):
        observed = f"{image.what}: no document says which driver reads it"
        return Obstacle(RULE, _ERROR, observed, None, Certainty.DOUBT)
    floor = policy.kind_row(image.kind).driver_floor
    return Obstacle(RULE, _ERROR, f"{image.what} is not read by drivers before {floor}", floor)


def check(subject: Subject) -> Examination:
    """Every unit that is served out of a container kind the driver does not read."""
    return examine_device(subject, RULE, _told, examined=subject.entries)


def _told(aim: Aim, _met: Obstacle) -> Told:
    return Told(f"loads on driver {aim.target.driver}", "build without fatbinary --concat")
