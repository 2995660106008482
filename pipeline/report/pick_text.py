"""The choice for people: the asset, why it is this one, and why not the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.served import Service
from pipeline.pick import Basis
from pipeline.report.color import paint
from pipeline.report.fold import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.pick import Choice, Fit, GpuFit, Host

_BASIS = {
    Basis.PROVEN: "was seen to work on this driver branch",
    Basis.REHEARSED: "its PTX was compiled for this driver branch",
    Basis.INFERRED: "by the rules, not seen there",
    Basis.ASSUMED: "newer than the release knows, or not recorded: judged by older ones",
    Basis.WAIVED: "waived by the maintainers: not known to work",
}

_MOST_OTHERS = 20


def pick_text(choice: Choice, *, color: bool, width: int = 80) -> str:
    """At most ``width`` columns but for names that are longer."""
    lines = [f"machine  {_machine(choice.host)}", *(f"  note   {note}" for note in choice.host.notes), ""]
    picked = choice.picked
    if picked is None:
        lines.append(paint("no asset fits this machine", "red", color=color))
    else:
        lines += [paint(picked.asset.file, "green", color=color), f"  sha256 {picked.asset.sha256}", *_why(picked)]
    if choice.nearest is not None:
        lines += ["", f"nearest{' with GPU code' if picked else ''}: {choice.nearest.asset.file}"]
        lines += [f"  needs  {line}" for line in _missing(choice.nearest)]
    others = [each for each in choice.fits if each is not picked and each is not choice.nearest]
    if others:
        lines += ["", "the others:"]
        lines += [f"  {each.asset.file}: {_why_not(each, choice)}" for each in others[:_MOST_OTHERS]]
    if len(others) > _MOST_OTHERS:
        lines.append(f"  {len(others) - _MOST_OTHERS} more (--format json has all)")
    return "\n".join(folded(lines, width))


def _machine(host: Host) -> str:
    glibc = f"glibc {host.glibc}" if host.glibc else "no glibc"
    counted: dict[str, int] = {}
    for gpu in host.gpus:
        told = f"{gpu.name + ' ' if gpu.name else ''}sm_{gpu.sm}, driver {gpu.driver}"
        counted[told] = counted.get(told, 0) + 1
    gpus = [f"{count} x {told}" if count > 1 else told for told, count in counted.items()] or ["no NVIDIA GPU"]
    return "; ".join([f"{host.platform}, {glibc}", *gpus])


def _why(picked: Fit) -> Iterator[str]:
    told = dict.fromkeys(_served(gpu) for gpu in picked.served)
    yield from (f"  fits   {line}" for line in told)
    if not picked.gpus:
        yield "  fits   runs on the CPU"
    for gpu in picked.gpus:
        if gpu.obstacle is not None:
            what = gpu.gpu.name or f"sm_{gpu.gpu.sm}"
            yield f"  but    not on {what}: hide it with CUDA_VISIBLE_DEVICES"


def _served(gpu: GpuFit) -> str:
    how = (
        "natively" if gpu.row.service is Service.NATIVE else "compiled by the driver at first use, which takes a while"
    )
    if gpu.row.service is Service.UNKNOWN:
        how = "in a way that the tables do not know"
    floor = f", driver {gpu.row.minimum_driver} or newer" if gpu.row.minimum_driver else ""
    return f"sm_{gpu.gpu.sm} {how}{floor}; {gpu.basis.value}: {_BASIS[gpu.basis]}"


def _missing(nearest: Fit) -> Iterator[str]:
    for obstacle in nearest.reasons:
        yield f"{obstacle.needs}, here is {obstacle.has}{': ' + obstacle.remedy if obstacle.remedy else ''}"


def _why_not(each: Fit, choice: Choice) -> str:
    if not each.fits:
        return "; ".join(f"needs {obstacle.needs}" for obstacle in each.reasons)
    if not each.gpus:
        return "fits, but uses no GPU" if choice.host.gpus else "fits as well"
    worst = max((gpu.basis for gpu in each.served), key=lambda basis: basis.rank)
    how = "natively" if all(gpu.row.service is Service.NATIVE for gpu in each.served) else "by JIT"
    toolkit = f", CUDA {each.asset.toolkit}" if each.asset.toolkit else ""
    some = f" on {len(each.served)} of {len(each.gpus)} GPUs" if len(each.served) < len(each.gpus) else ""
    return f"fits as well{some}: {worst.value}, {how}{toolkit}"
