"""Which asset is for which machine, as the table of a release's notes: ``COMPATIBILITY.md`` and a GitHub release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind
from pipeline.model.served import Service
from pipeline.model.target import Flavour, Platform
from pipeline.pick import Basis
from pipeline.report.markdown import plain, table, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.served import ServedGpu
    from pipeline.pick import Asset, PromisedTarget, Release, Seen

MOST_BYTES = 120_000
"""GitHub takes 125,000 characters as a release's text; a table of 256 assets may be longer, and says what it lacks."""

_HEAD = ("asset", "GPU code", "PTX", "lowest driver", "proven on", "host", "sha256")
_NEW_LINE = "<br>"
_EXPLAINED = (
    "**GPU code** runs as it is, on GPUs of the same generation too; **PTX** is compiled by the driver at first use. "
    "**Lowest driver** is what the code in the asset asks for; **proven on** is where it was loaded and answered. "
    "`cubingate pick` says which asset fits a machine, out of `compat.json` beside them."
)


def compat_markdown(release: Release) -> str:
    """A row for each asset; those that GitHub has no room for are counted."""
    pieces = ["## Which asset for which machine", "", _EXPLAINED, ""]
    pieces += table(_HEAD, (_row(asset) for asset in release.assets))[:-1]
    return within(pieces, MOST_BYTES, holds="a release's text holds 125,000 characters")


def _row(asset: Asset) -> tuple[str, ...]:
    return (
        plain(asset.file),
        _code(asset, ArchKind.REAL, "sm_"),
        _code(asset, ArchKind.VIRTUAL, "compute_"),
        _lines(_drivers(asset)) or "needs no GPU",
        _lines(_seen(asset)),
        plain(f"{asset.platform}, glibc {asset.glibc} or newer" if asset.glibc else str(asset.platform)),
        plain(asset.sha256),
    )


def _code(asset: Asset, kind: ArchKind, prefix: str) -> str:
    return plain(" ".join(f"{prefix}{arch.name}" for arch in sorted(asset.archs) if arch.kind is kind)) or "none"


def _lines(lines: Iterator[str]) -> str:
    return _NEW_LINE.join(map(plain, lines))


def _drivers(asset: Asset) -> Iterator[str]:
    """A line for GPUs that ask for the same: what is recorded of all GPUs, else of those that were promised."""
    if asset.flavour is Flavour.CPU:
        return
    alike: dict[str, list[int]] = {}
    for row in _served(asset):
        alike.setdefault(_asks(row), []).append(row.sm)
    for sm, driver in () if asset.serves else sorted(asset.floors.items()):
        alike.setdefault(str(driver) if driver else "not known", []).append(sm)
    for asks, numbers in alike.items():
        yield f"{asks}: {' '.join(f'sm_{sm}' for sm in numbers)}"
    if not alike:
        yield "not recorded"


def _served(asset: Asset) -> Iterator[ServedGpu]:
    """GPUs with code for them; integrated ones only where there are any, which is on boards with Arm processors."""
    rows = asset.serves.gpus if asset.serves else ()
    for row in sorted(rows, key=_native_and_oldest_first):
        if row.service is not Service.NONE and (asset.platform is Platform.AARCH64 or not row.tegra):
            yield row


def _native_and_oldest_first(row: ServedGpu) -> tuple[bool, tuple[int, ...], int]:
    driver = row.minimum_driver
    return row.service is not Service.NATIVE, driver.key if driver else (), row.sm


def _asks(row: ServedGpu) -> str:
    words = [str(row.minimum_driver) if row.minimum_driver else "not known"]
    words += [f"up to R{row.last_branch}"] if row.last_branch is not None else []
    words += ["from PTX"] if row.service is Service.JIT else []
    return ", ".join(words)


def _seen(asset: Asset) -> Iterator[str]:
    """What was proven, each once, then what nobody must take for it."""
    proven = [target for target in asset.targets if target.basis is Basis.PROVEN]
    yield from dict.fromkeys(line for target in proven for line in _proofs(target))
    for basis in (Basis.WAIVED, Basis.FAILED):
        yield from (f"{basis.value}: {_board(target, target)}" for target in asset.targets if target.basis is basis)
    if asset.flavour is Flavour.CUDA and not proven:
        yield "no GPU yet"


def _proofs(target: PromisedTarget) -> Iterator[str]:
    yield from (_board(target, place) for place in target.seen or (target,))


def _board(target: PromisedTarget, place: PromisedTarget | Seen) -> str:
    return f"{place.gpu or target.gpu or 'GPU'} (sm_{target.sm}), driver {place.driver}"
