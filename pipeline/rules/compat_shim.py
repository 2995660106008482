"""A forward-compatibility libcuda that shadows the host's.

What: the artifact has a cuda-compat libcuda (in a folder called compat). Where the loader finds it before the driver's
(an ld.so.conf.d entry that sorts before the system's folders, LD_LIBRARY_PATH of the image, the RUNPATH of a member),
it is used on every host; where it only lies there, container runtimes put it first on hosts whose driver is older. Each
target is held against NVIDIA's table of packages and drivers (`cubingate policy forward_compatibility`).

Why: images carry compat libraries so that old data-center drivers serve new toolkits. On a newer driver the older
libcuda answers "system has unsupported display driver / cuda driver combination" (803), on GeForce boards "forward
compatibility was attempted on non supported HW" (804). For MIG instances NVIDIA documents nothing, and programs have
been seen to fall back to the CPU in silence: unknown. Device code is judged against the driver, not the shim.

Remedy: take the compat folder off the loader's path (ld.so.conf.d, LD_LIBRARY_PATH), or choose it at start by comparing
versions.

Source: CUDA Compatibility, forward compatibility (table); libnvidia-container, src/cli/compat_mode.c; measured: H200
with driver 580.159.04 and libcuda 580.95.05; llama.cpp issue 23111; nvidia-docker issue 1515.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.versions import DriverVersion
from pipeline.policy.rows import CompatBoards, CompatStatus
from pipeline.policy.unknown import OutsidePolicy
from pipeline.rules.driver_library_shipped import NAME, is_compat
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy import Policy
    from pipeline.rules.loader import Loader, Place
    from pipeline.rules.subject import Aim, Subject

RULE = "compat-shim"
_FILE = re.compile(r"libcuda\.so\.([0-9]{3}\.[0-9.]+[0-9])", re.ASCII)
_MIG = re.compile(r"\bMIG\b", re.IGNORECASE)
_MISMATCH, _NO_HARDWARE = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"
_REMEDY = "take the compat folder off the loader's path, or choose it at start by comparing versions"


@dataclass(frozen=True, slots=True)
class _Shim:
    """A compat libcuda; ``exposed`` says what puts it before the driver's, empty where it only lies there."""

    path: str
    version: DriverVersion
    exposed: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """What becomes of a target; the error is the user's."""

    effect: Effect
    why: str
    error: str = ""


def check(subject: Subject) -> Examination:
    """Every forward-compatibility libcuda against every target's driver and board."""
    shims = list(_shims(subject))
    if not shims:
        return Examination(0, (), "no forward-compatibility libcuda in the input")
    claims = (claim for shim in shims for aim in subject.aims for claim in _claims(subject, shim, aim))
    return Examination(len(shims), tuple(claims))


def _shims(subject: Subject) -> Iterator[_Shim]:
    candidates = [name for inventory in subject.inventories for name in inventory.files if "libcuda.so." in name]
    if not candidates:
        return
    from pipeline.rules.loader import Loader

    loader = Loader(subject.inventories)
    for printed in candidates:
        place = loader.tree.place(printed)
        found = _FILE.fullmatch(place.name)
        if found and is_compat(place):
            yield _Shim(printed, DriverVersion(found[1]), _exposed(subject, loader, place))


def _exposed(subject: Subject, loader: Loader, shim: Place) -> str:
    """What makes the dynamic linker take the shim, in words."""
    for elf in subject.elves:
        wants = NAME in elf.needed or NAME in elf.dlopen_names
        if wants and loader.search(elf, NAME, system=False) == shim:
            return f"the search path of {elf.path.name}"
    for inventory in subject.inventories:
        for image in inventory.images:
            folders = image.environment.get("LD_LIBRARY_PATH", "").split(":")
            if loader.first(f"{image.path}!/", folders, NAME) == shim:
                return "LD_LIBRARY_PATH of the image"
    if loader.first(shim.container, loader.before_driver(shim.container), NAME) == shim:
        return "ld.so.conf"
    return ""


def _claims(subject: Subject, shim: _Shim, aim: Aim) -> Iterator[Claim]:
    if aim.doubt is not None:
        return
    answer = _answer(subject.policy, shim, aim)
    if answer is None:
        return
    way = f"put first by {shim.exposed}" if shim.exposed else "there for container runtimes to use"
    board = f" on {aim.target.gpu}" if aim.target.gpu else ""
    yield Claim(
        rule=RULE,
        effect=answer.effect,
        path=shim.path,
        declared=f"driver {aim.target.driver}{board}",
        observed=f"libcuda {shim.version} ({_package(subject.policy, shim)}), {way}: {answer.why}",
        remedy=_REMEDY,
        targets=(aim.label,),
        error=answer.error,
        group=shim.path,
    )


def _package(policy: Policy, shim: _Shim) -> str:
    try:
        return f"compat package of CUDA {policy.cuda_of(shim.version)}"
    except OutsidePolicy:
        return "compat package of an unknown CUDA version"


def _answer(policy: Policy, shim: _Shim, aim: Aim) -> _Answer | None:
    """How the shim fares over the target's driver; ``None`` where it does no harm."""
    driver = aim.target.driver
    if shim.version == driver:
        return None
    if shim.version.branch < driver.branch or (shim.version.branch == driver.branch and shim.exposed):
        return _older(shim, driver)
    if shim.version.branch == driver.branch:
        return None  # runtimes leave a shim of the driver's own branch alone
    status = _status(policy, shim, driver)
    if status is CompatStatus.NOT_COMPATIBLE:
        return _Answer(Effect.FAIL, "NVIDIA's table rules that out", _MISMATCH)
    return _newer(policy, aim, listed=status is CompatStatus.COMPATIBLE)


def _older(shim: _Shim, driver: DriverVersion) -> _Answer:
    if not shim.exposed:
        return _Answer(Effect.WARNING, "runtimes leave it out on this driver, which is newer; anything else would fail")
    if shim.version.branch == driver.branch:
        return _Answer(Effect.FAIL, "another build of the driver's own branch", _MISMATCH)
    return _Answer(Effect.FAIL, "the driver is newer, which NVIDIA's table rules out", _MISMATCH)


def _newer(policy: Policy, aim: Aim, *, listed: bool) -> _Answer:
    """A shim for an older driver: what it is made for, on the boards that it serves."""
    if aim.target.gpu is not None and _MIG.search(aim.target.gpu):
        seen = "programs have fallen back to the CPU in silence"
        return _Answer(Effect.DOUBT, f"NVIDIA documents no forward compatibility on MIG instances; {seen}")
    boards = {board.compat if board is not None else None for board in policy.boards_of(aim.target)}
    if boards == {CompatBoards.NO}:
        return _Answer(Effect.FAIL, "this board does not support forward compatibility", _NO_HARDWARE)
    table = "" if listed else " and NVIDIA's table does not list it for this driver"
    if boards != {CompatBoards.YES}:
        return _Answer(Effect.WARNING, f"allowed on data-center boards only (GeForce answers 804){table}")
    return _Answer(Effect.NOTE if listed else Effect.WARNING, f"it replaces the driver's libcuda{table}")


def _status(policy: Policy, shim: _Shim, driver: DriverVersion) -> CompatStatus:
    try:
        return policy.forward_compatibility(policy.cuda_of(shim.version), driver)
    except OutsidePolicy:
        return CompatStatus.NOT_LISTED
