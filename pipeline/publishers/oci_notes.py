"""What an image and an artifact say of themselves: OCI's annotations, and ours for floor, architectures and toolkit.

The floor of the image is what ``NVIDIA_REQUIRE_CUDA`` asks for, as a CUDA version, the one property that every mode of
NVIDIA's runtime compares. It is never a false one: not above what the device code and the CUDA runtime need on the GPU
that needs least, and not above any driver that the lane promises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind
from pipeline.model.document import document
from pipeline.model.lane import Flavour, GitSource, PrebuiltUrl
from pipeline.pick.read import read_release
from pipeline.policy.unknown import OutsidePolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.gate import Approved
    from pipeline.model.lane import BaseImage, ImageTerms, Lane
    from pipeline.model.versions import DriverVersion
    from pipeline.pick.asset import Asset
    from pipeline.policy import Policy

_OCI = "org.opencontainers.image."
OURS = "io.cubingate.release."
"""Not ``io.cubingate.lane``, by which ``clean`` knows what may be removed from an engine."""
LANE = f"{OURS}lane"
SHA256 = f"{OURS}sha256"
_REQUIRE = "NVIDIA_REQUIRE_CUDA"


@dataclass(frozen=True, slots=True)
class Floor:
    """The lowest driver on which anything of the image runs, and the CUDA version that it reports."""

    driver: DriverVersion
    cuda: str


def floor_of(item: Approved, policy: Policy) -> Floor | None:
    """The floor of a CUDA lane; ``None`` for a CPU lane, and where neither lane, audit nor tables know one."""
    lane = item.verdict.lane
    if lane.flavour is not Flavour.CUDA:
        return None
    needed = _needed(item, policy)
    promised = [target.driver for target in lane.targets]
    promised += [lane.driver_floor] if lane.driver_floor is not None else []
    known = [*([max(needed)] if needed else []), *promised]
    try:
        return Floor(min(known), str(policy.cuda_of(min(known)))) if known else None
    except OutsidePolicy:
        return None


def _needed(item: Approved, policy: Policy) -> list[DriverVersion]:
    """What the bytes ask for on the GPU that needs least, and what the toolkit's runtime library asks for."""
    asset = asset_of(item)
    served = [gpu.minimum_driver for gpu in asset.serves.gpus if not gpu.tegra] if asset.serves else []
    floors = [driver for driver in (*served, *asset.floors.values()) if driver is not None]
    needed = [min(floors)] if floors else []
    toolkit = item.verdict.lane.toolkit
    try:
        return [*needed, policy.cubin_floor(toolkit.major)] if toolkit is not None and needed else needed
    except OutsidePolicy:
        return needed


def asset_of(item: Approved) -> Asset:
    """What compat.json says of the bundle, as ``pick`` reads it; ``CorruptInput`` where it would refuse that."""
    from pipeline.compat import compatibility

    (asset,) = read_release(document("compat", compatibility([item])).encode("utf-8"), item.verdict.lane.id).assets
    return asset


def environment(item: Approved, floor: Floor | None) -> dict[str, str]:
    """The variables of NVIDIA's runtime: nothing for a CPU lane."""
    if item.verdict.lane.flavour is not Flavour.CUDA:
        return {}
    seen = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    return {**seen, **({_REQUIRE: f"cuda>={floor.cuda}"} if floor is not None else {})}


DROPPED = frozenset({"NVIDIA_REQUIRE_*", "NVIDIA_DISABLE_REQUIRE", "CUDA_VERSION"})
"""Variables of the base that ask for its own toolkit's driver, whatever the bundle needs."""


def notes(item: Approved, terms: ImageTerms, floor: Floor | None, created: str | None) -> dict[str, str]:
    """Labels and annotations of everything that is pushed of a bundle; what is not known is left out."""
    lane = item.verdict.lane
    asset = asset_of(item)
    said = {
        f"{_OCI}title": lane.bundle.name,
        f"{_OCI}version": lane.bundle.version,
        f"{_OCI}revision": lane.source.commit if isinstance(lane.source, GitSource) else None,
        f"{_OCI}source": terms.source or _source(lane),
        f"{_OCI}created": created,
        f"{_OCI}licenses": terms.licenses,
        LANE: lane.id,
        SHA256: item.artifact.sha256,
        f"{OURS}file": item.artifact.path.name,
        f"{OURS}driver-floor": str(floor.driver) if floor else None,
        f"{OURS}driver-floors": " ".join(_by_gpu(asset)),
        f"{OURS}archs.real": _archs(lane, ArchKind.REAL),
        f"{OURS}archs.virtual": _archs(lane, ArchKind.VIRTUAL),
        f"{OURS}toolkit": str(lane.toolkit) if lane.toolkit else None,
        f"{OURS}glibc": str(lane.host_glibc) if lane.host_glibc else None,
    }
    return {key: value for key, value in said.items() if value}


def base_notes(base: BaseImage | None) -> dict[str, str]:
    """What the runtime image adds: the base that it is on."""
    if base is None or base.digest is None:
        return {}
    return {f"{_OCI}base.name": base.reference, f"{_OCI}base.digest": base.digest}


def _by_gpu(asset: Asset) -> Iterator[str]:
    """``80=525.60.13``: what the audit found for each promised GPU."""
    for sm, driver in sorted(asset.floors.items()):
        if driver is not None:
            yield f"{sm}={driver}"


def _archs(lane: Lane, kind: ArchKind) -> str:
    return " ".join(arch.name for arch in lane.archs if arch.kind is kind)


def _source(lane: Lane) -> str | None:
    match lane.source:
        case GitSource(url):
            return url
        case PrebuiltUrl(url):
            return url.partition("?")[0]
        case _:
            return None
