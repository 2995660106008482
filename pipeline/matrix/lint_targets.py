"""Lints about promises: whether the images of a lane can serve its targets and its driver floor at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.formats.facts import EntryKind
from pipeline.matrix.archs import spell_archs
from pipeline.matrix.lint_compiler import found
from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch
from pipeline.model.finding import Finding, Severity
from pipeline.policy.unknown import UnknownCompression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.model.lane import Lane, Target
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy


def served_by(lane: Lane, sm: int, policy: Policy) -> EntryKind | None:
    """What a GPU of this SM would run: a cubin, else PTX, else nothing (``None``)."""
    gpu = policy.gpu(sm)
    kinds = {arch.kind for arch in lane.archs if arch.runs_on(gpu, image_tegra=policy.tegra(arch.number))}
    if ArchKind.REAL in kinds:
        return EntryKind.CUBIN
    return EntryKind.PTX if ArchKind.VIRTUAL in kinds else None


def toolkit_major(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """Minor version compatibility: a program of CUDA major N needs the first driver of N, whatever its images are."""
    if lane.toolkit is None or lane.driver_floor is None:
        return
    floor = policy.toolkit(lane.toolkit).cubin_floor
    below = [target for target in lane.targets if target.driver < floor]
    if lane.driver_floor < floor or below:
        lowest = min([lane.driver_floor, *(target.driver for target in below)])
        remedy = f"raise driver_floor and targets to {floor}, or use a toolkit of CUDA {policy.cuda_of(lowest).major}"
        observed = f"CUDA {lane.toolkit.major} needs driver >= {floor}"
        yield _for(
            below,
            found(
                lane, "toolkit-major", "driver_floor", declared=f"driver >= {lowest}", observed=observed, remedy=remedy
            ),
        )


def unreadable_compression(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """The drivers that a lane promises must unpack its images: Zstandard needs 550.54.14, whatever the toolkit."""
    if lane.toolkit is None or lane.compression is None or lane.driver_floor is None:
        return
    main = EntryKind.CUBIN if any(arch.kind is ArchKind.REAL for arch in lane.archs) else EntryKind.PTX
    needs = {kind: _codec_floor(lane, kind, policy) for kind in (EntryKind.CUBIN, EntryKind.PTX)}
    below = [
        target
        for target in lane.targets
        if (kind := served_by(lane, target.sm, policy)) is not None and _older(target.driver, needs[kind])
    ]
    need = needs[main]
    if need is not None and (lane.driver_floor < need or below):
        drivers = [lane.driver_floor, *(target.driver for target in below)]
        observed = f"--compress-mode={lane.compression} of toolkit {lane.toolkit} needs driver >= {need}"
        remedy = f"write compression: speed, or raise the floor to {need}"
        yield _for(
            below,
            found(
                lane,
                "fatbin-codec",
                "compression",
                declared=f"driver >= {min(drivers)}",
                observed=observed,
                remedy=remedy,
            ),
        )


def _codec_floor(lane: Lane, kind: EntryKind, policy: Policy) -> DriverVersion | None:
    if lane.toolkit is None or lane.compression is None:
        return None
    try:
        return policy.codec_floor(policy.codec_of(lane.toolkit, lane.compression, kind))
    except UnknownCompression:
        return None  # the lint compression-mode has said so


def _older(driver: DriverVersion, floor: DriverVersion | None) -> bool:
    return floor is not None and driver < floor


def ptx_too_new(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """A target without a cubin of its own is served by the driver's JIT, which must know the toolkit's PTX ISA."""
    if lane.toolkit is None or lane.driver_floor is None:
        return
    ptx = policy.toolkit(lane.toolkit).ptx
    only_ptx = [target for target in lane.targets if served_by(lane, target.sm, policy) is EntryKind.PTX]
    failing = [target for target in only_ptx if policy.max_ptx(target.driver) < ptx]
    drivers = [target.driver for target in failing]
    if all(arch.kind is ArchKind.VIRTUAL for arch in lane.archs) and policy.max_ptx(lane.driver_floor) < ptx:
        drivers.append(lane.driver_floor)
    if drivers:
        need = policy.first_driver_with_ptx(ptx)
        reals = ";".join(dict.fromkeys(f"{target.sm}-real" for target in failing)) or "real architectures"
        observed = f"toolkit {lane.toolkit} writes PTX ISA {ptx}, which needs driver >= {need}"
        remedy = f"add {reals} to archs, or raise the driver to {need}"
        declared = f"archs {spell_archs(lane.archs)} on driver {min(drivers)}"
        yield _for(failing, found(lane, "ptx-isa", "archs", declared=declared, observed=observed, remedy=remedy))


def not_covered(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """No image of the arch list can run on a promised GPU: ``CUDA_ERROR_NO_BINARY_FOR_GPU`` for its user."""
    for target in lane.targets if lane.archs else ():
        if served_by(lane, target.sm, policy) is not None:
            continue
        near = [arch for arch in lane.archs if arch.suffix is not ArchSuffix.NONE and arch.major == target.sm // 10]
        rule = "arch-suffix" if near else "arch-missing"
        observed = f"{spell_archs(near)} is for other GPUs" if near else f"no image in {spell_archs(lane.archs)}"
        remedy = f"add {target.sm}-real to archs, or remove the target"
        yield _for(
            [target], found(lane, rule, "archs", declared=f"target {target.label}", observed=observed, remedy=remedy)
        )


def driver_too_old(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """The driver of a target appeared before its GPU."""
    for target in lane.targets:
        first = policy.gpu_floor(target.sm)
        if target.driver.branch < first.branch:
            observed = f"sm_{target.sm} is served from driver {first} on"
            remedy = f"write driver: {first} or later"
            finding = found(
                lane,
                "driver-too-old-for-gpu",
                "targets",
                declared=f"target {target.label}",
                observed=observed,
                remedy=remedy,
            )
            yield _for([target], finding)


def gpu_retired(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """The driver of a target no longer serves its GPU, or no driver from the floor on serves an architecture."""
    for target in lane.targets:
        last = policy.gpu_last_branch(target.sm)
        if last is not None and target.driver.branch > last:
            remedy = f"promise {target.sm} on R{last} or older, or drop the target"
            finding = found(
                lane,
                "driver-retired",
                "targets",
                declared=f"target {target.label}",
                observed=_last(target.sm, last),
                remedy=remedy,
            )
            yield _for([target], finding)
    for number in _numbers(lane.archs) if lane.driver_floor else ():
        last = policy.gpu_last_branch(number)
        if lane.driver_floor and last is not None and lane.driver_floor.branch > last:
            declared = f"arch {number} with driver >= {lane.driver_floor}"
            remedy = f"drop {number} from archs, or lower driver_floor"
            yield _warning(
                found(lane, "driver-retired", "archs", declared=declared, observed=_last(number, last), remedy=remedy)
            )


def _last(sm: int, branch: int) -> str:
    return f"sm_{sm} is served up to R{branch}"


def arch_unknown_to_floor(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """The floor's driver does not know an architecture: there the real floor is higher, which a target should say.

    An error when the floor's driver knows none of the list; silent where a declared target names the higher driver.
    """
    if lane.driver_floor is None:
        return
    first = {number: policy.gpu_floor(number) for number in _numbers(lane.archs)}
    newer = {number: driver for number, driver in first.items() if driver > lane.driver_floor}
    if newer and len(newer) == len(first):
        driver = min(newer.values())
        observed = f"the first driver that knows any of {spell_archs(lane.archs)} is {driver}"
        remedy = f"write driver_floor: {driver}"
        yield found(
            lane,
            "arch-floor",
            "driver_floor",
            declared=f"driver >= {lane.driver_floor}",
            observed=observed,
            remedy=remedy,
        )
        return
    promised = {target.sm for target in lane.targets if target.sm in newer and target.driver >= newer[target.sm]}
    for number, driver in newer.items():
        if number not in promised:
            declared = f"arch {number} with driver >= {lane.driver_floor}"
            observed = f"sm_{number} is served from driver {driver} on"
            remedy = f"declare the target {number}@{driver}, or drop {number} from archs"
            yield _warning(found(lane, "arch-floor", "archs", declared=declared, observed=observed, remedy=remedy))


def target_below_floor(lane: Lane, _policy: Policy) -> Iterator[Finding]:
    """A target's driver is older than the lane's own floor: one of the two promises is wrong."""
    below = [target for target in lane.targets if _older(target.driver, lane.driver_floor)]
    for target in below:
        remedy = f"write driver_floor: {target.driver}, or raise the target's driver"
        observed = f"driver_floor is {lane.driver_floor}"
        yield _for(
            [target],
            found(lane, "target-floor", "targets", declared=f"target {target.label}", observed=observed, remedy=remedy),
        )


def misnamed_gpu(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """A target's name is that of a product with another compute capability."""
    products = {product.lower(): row.gpu.number for row in policy.gpus for product in row.products}
    for target in lane.targets:
        number = products.get((target.gpu or "").lower(), target.sm)
        if number != target.sm:
            declared = f"{target.gpu} is sm {target.sm}"
            observed = f"{target.gpu} is sm_{number}"
            yield _for(
                [target],
                found(lane, "gpu-name", "targets", declared=declared, observed=observed, remedy=f"write sm: {number}"),
            )


def unproven(lane: Lane, _policy: Policy) -> Iterator[Finding]:
    """A required target without a check on that GPU is promised and never proven; a smoke on the CPU proves nothing."""
    for target in lane.targets:
        missing = [check for check in target.asked if check not in lane.required]
        if missing:
            remedy = f"add {', '.join(missing)} to required, or let suffices: inferred do for the target"
            finding = found(
                lane,
                "unproven-target",
                "required",
                declared=f"required target {target.label}",
                observed="no check of it is required",
                remedy=remedy,
            )
            yield _warning(_for([target], finding))


def _numbers(archs: Iterable[TargetArch]) -> list[int]:
    return list(dict.fromkeys(arch.number for arch in archs))


def _for(targets: Iterable[Target], finding: Finding) -> Finding:
    return replace(finding, targets=tuple(target.label for target in targets))


def _warning(finding: Finding) -> Finding:
    return replace(finding, severity=Severity.WARNING)
