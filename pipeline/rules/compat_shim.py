"""A forward-compatibility libcuda that shadows the host's.

What: the artifact has a cuda-compat libcuda (in a folder called compat), and NVIDIA's table does not allow that package
on the target's driver: it is older than the kernel driver.

Why: images carry compat libraries so that old data-center drivers serve new toolkits. On a newer driver the older
libcuda answers "system has unsupported display driver / cuda driver combination" (803), on GeForce boards "forward
compatibility was attempted on non supported HW" (804).

Remedy: take the compat folder off the loader's path (ld.so.conf.d, LD_LIBRARY_PATH), or choose it at start by comparing
versions.

Source: CUDA Compatibility, forward compatibility (table); measured: H200 with driver 580.159.04 and libcuda
580.95.05; llama.cpp issue 23111.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.model.versions import DriverVersion
from pipeline.policy.rows import CompatStatus
from pipeline.policy.unknown import OutsidePolicy
from pipeline.rules.driver_library_shipped import is_compat
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.loader import Place
    from pipeline.rules.subject import Subject

RULE = "compat-shim"
_FILE = re.compile(r"libcuda\.so\.([0-9]{3}\.[0-9.]+[0-9])", re.ASCII)


def check(subject: Subject) -> Examination:
    """Every forward-compatibility libcuda against every target's driver."""
    shims = list(_shims(subject))
    if not shims:
        return Examination(0, (), "no forward-compatibility libcuda in the input")
    claims = (claim for place, version in shims for claim in _claims(subject, place, version))
    return Examination(len(shims), tuple(claims))


def _shims(subject: Subject) -> Iterator[tuple[Place, DriverVersion]]:
    candidates = [name for inventory in subject.inventories for name in inventory.files if "libcuda.so." in name]
    if not candidates:
        return
    from pipeline.rules.loader import Place

    for place in map(Place.of, candidates):
        found = _FILE.fullmatch(place.name)
        if found and is_compat(place):
            yield place, DriverVersion(found[1])


def _claims(subject: Subject, place: Place, version: DriverVersion) -> Iterator[Claim]:
    for aim in subject.aims:
        if aim.doubt is not None:
            continue
        try:
            package = subject.policy.cuda_of(version)
            status = subject.policy.forward_compatibility(package, aim.target.driver)
        except OutsidePolicy:
            status, package = CompatStatus.NOT_LISTED, None
        older = version.branch < aim.target.driver.branch
        if status is CompatStatus.NOT_COMPATIBLE or (status is CompatStatus.NOT_LISTED and older):
            effect, allowed = Effect.FAIL, "which NVIDIA's table rules out"
        elif status in {CompatStatus.COMPATIBLE, CompatStatus.NOT_LISTED}:
            effect, allowed = Effect.WARNING, "allowed on data-center boards only (GeForce answers 804)"
        else:
            continue
        yield Claim(
            rule=RULE,
            effect=effect,
            path=f"{place.container}{place.path}",
            declared=f"driver {aim.target.driver}",
            observed=f"libcuda {version} (compat package of CUDA {package or 'unknown'}) over that driver, {allowed}",
            remedy="take the compat folder off the loader's path, or choose it at start by comparing versions",
            targets=(aim.label,),
            error="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" if effect is Effect.FAIL else "",
            group=place.path,
        )
