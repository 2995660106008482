"""One combination and the defaults → one lane, complete and free of contradictions, or the mistakes in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.matrix.mistakes import Mistake
from pipeline.matrix.settings import BROKEN
from pipeline.model.jit import JitLanguage
from pipeline.model.lane import (
    LOSSES,
    BundleSpec,
    Flavour,
    GitSource,
    Lane,
    PathSource,
    Platform,
    SdistSource,
    SmokeSettings,
    Target,
    ToolkitOrigin,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.model.jit import JitSource
    from pipeline.model.lane import Position

CUDA_ONLY = (
    "toolkit",
    "toolkit_from",
    "archs",
    "compression",
    "driver_floor",
    "targets",
    "by_design",
    "never_by_design",
    "jit_sources",
)
"""Settings that mean nothing on a CPU lane."""

_BUILD = ("recipe", "base_image")
_CUDA_BUILD = (("toolkit", '"13.0.2"'), ("archs", "90-real"), ("compression", "speed"))


@dataclass(frozen=True, slots=True)
class Row:
    """The settings of one lane-to-be: values by name, where each stands, and which the combination itself set.

    Values are as ``SettingsReader`` reads them, so each name always holds the same type.
    """

    position: Position
    values: Mapping[str, Any]
    places: Mapping[str, Position]
    combination: Mapping[str, str]

    @property
    def broken(self) -> bool:
        """Whether a mistake in one of the values is already on the list."""
        return BROKEN in self.values.values()

    @property
    def flavour(self) -> Flavour:
        """The lane's flavour; ``KeyError`` where the row has none."""
        flavour: Flavour = self.values["flavour"]
        return flavour

    def wrong(self, setting: str, message: str, instead: str) -> Mistake:
        """A mistake at ``setting``, or at the row where it is not set."""
        return Mistake(self.places.get(setting, self.position), message, instead)


def mistakes_in(row: Row) -> Iterator[Mistake]:
    """What the row lacks or contradicts, its own values being sound."""
    missing = [name for name in ("flavour", "source", "smoke") if name not in row.values]
    for name in missing:
        yield row.wrong(name, f"the lane has no {name!r}", f"add {name}: to the combination, 'flavours' or 'defaults'")
    if missing:
        return
    if isinstance(row.values["source"], GitSource | PathSource | SdistSource):
        yield from _incomplete_build(row)
    yield from _cuda_mistakes(row) if row.flavour is Flavour.CUDA else _cpu_mistakes(row)
    yield from _smoke_mistakes(row, row.values["smoke"])
    yield from _previous_mistakes(row)
    yield from _jit_mistakes(row)
    yield from _check_mistakes(row)


def _incomplete_build(row: Row) -> Iterator[Mistake]:
    for name in _BUILD:
        if name not in row.values:
            yield row.wrong(name, f"a lane that is built needs {name!r}", f"add {name}: NAME")
    if row.flavour is Flavour.CUDA:
        for name, example in _CUDA_BUILD:
            if name not in row.values:
                yield row.wrong(name, f"a cuda lane that is built needs {name!r}", f"add {name}: {example}")


def _cuda_mistakes(row: Row) -> Iterator[Mistake]:
    for name, example in (("driver_floor", '"580.65.06"'), ("targets", "[90@580.65.06]")):
        if not row.values.get(name):
            yield row.wrong(name, f"a cuda lane promises nothing without {name!r}", f"add {name}: {example}")
    if isinstance(row.values.get("archs"), str) and "toolkit" not in row.values:
        yield row.wrong("archs", f"{row.values['archs']!r} depends on the toolkit", "add toolkit:, or list them")
    for pattern in row.values.get("never_by_design", ()):
        if pattern in row.values.get("by_design", ()):
            yield row.wrong("by_design", f"{pattern!r} is in 'never_by_design' too", "keep it in one of the two")


def _cpu_mistakes(row: Row) -> Iterator[Mistake]:
    for name in CUDA_ONLY:
        # From defaults they are for the cuda lanes of the file; in a combination they are meant for this one.
        if name in row.combination:
            yield row.wrong(name, f"a cpu lane has no {name!r}", "remove it, or exclude the combination")


def _smoke_mistakes(row: Row, smoke: SmokeSettings) -> Iterator[Mistake]:
    if smoke.contain and "base_image" not in row.values:
        yield row.wrong("smoke", "serving in a container needs 'base_image'", "add base_image: NAME")
    if smoke.model.url is not None and smoke.models != SmokeSettings(smoke.command).models:
        yield row.wrong("smoke", "'model' is served, so that none of 'models' is", "keep one of them")
    device = "cuda" if row.flavour is Flavour.CUDA else "cpu"
    if any("{device}" in word for word in smoke.command) and device not in smoke.device_arguments:
        yield row.wrong(
            "smoke", f"{{device}} means nothing on a {device} lane", f"add device_arguments: {{{device}: […]}}"
        )


def _previous_mistakes(row: Row) -> Iterator[Mistake]:
    if isinstance(row.values.get("previous"), GitSource | PathSource | SdistSource):
        yield row.wrong("previous", "'previous' is a source to build", "name a finished bundle: file, url or wheel")
    if "may_lose" in row.combination and "previous" not in row.values:
        yield row.wrong("may_lose", "'may_lose' without 'previous' allows nothing", "add previous: NAME")
    for rule in row.values.get("may_lose", ()):
        if rule not in LOSSES:
            yield row.wrong("may_lose", f"{rule!r} is not a rule of a comparison", f"write some of {', '.join(LOSSES)}")


def _jit_mistakes(row: Row) -> Iterator[Mistake]:
    for source in _jit_sources(row):
        if source.language is JitLanguage.CUDA and not source.toolkits:
            yield row.wrong("jit_sources", f"{source.name!r} has no 'toolkits'", "add them, or a toolkit to the lane")


def _jit_sources(row: Row) -> tuple[JitSource, ...]:
    """Those of the lane; CUDA C++ is compiled by the lane's toolkit where the source names none."""
    if row.flavour is not Flavour.CUDA:
        return ()
    toolkit = row.values.get("toolkit")
    own = (toolkit,) if toolkit is not None else ()
    return tuple(
        replace(source, toolkits=own) if source.language is JitLanguage.CUDA and not source.toolkits else source
        for source in row.values.get("jit_sources", ())
    )


def _check_mistakes(row: Row) -> Iterator[Mistake]:
    possible = (*_possible_checks(_targets(row), compared="previous" in row.values), *_compilations(row))
    for check in row.values.get("required", ()):
        if check not in possible:
            yield row.wrong("required", f"this lane has no check {check!r}", f"write some of {', '.join(possible)}")


def _targets(row: Row) -> tuple[Target, ...]:
    return row.values.get("targets", ()) if row.flavour is Flavour.CUDA else ()


def _compilations(row: Row) -> tuple[str, ...]:
    """The checks that compile the lane's JIT sources, one for each target."""
    return tuple(target.compilation for target in _targets(row)) if _jit_sources(row) else ()


def _possible_checks(targets: Sequence[Target], *, compared: bool) -> tuple[str, ...]:
    always = ("audit", *(("diff",) if compared else ()), "smoke@cpu")
    return (*always, *(check for target in targets for check in (*target.checks, target.rehearsal)))


def required_checks(flavour: Flavour, targets: Sequence[Target], *, compared: bool = False) -> tuple[str, ...]:
    """What a lane needs unless the file says otherwise. A smoke on the CPU is never evidence for a GPU target."""
    read = ("audit", "diff") if compared else ("audit",)
    if flavour is Flavour.CPU:
        return (*read, "smoke@cpu")
    return (*read, *(check for target in targets for check in target.asked))


def lane_of(row: Row, lane_id: str, bundle: BundleSpec) -> Lane:
    """The lane of a row without mistakes."""
    get = row.values.get
    cuda = row.flavour is Flavour.CUDA
    targets = _targets(row)
    source = row.values["source"]
    built = isinstance(source, GitSource | PathSource | SdistSource)
    return Lane(
        id=lane_id,
        bundle=get("bundle", bundle),
        flavour=row.flavour,
        platform=get("platform", Platform.X86_64),
        source=source,
        recipe=get("recipe") if built else None,
        toolkit=get("toolkit") if cuda else None,
        toolkit_origin=get("toolkit_from", ToolkitOrigin.BASE_IMAGE) if cuda and built else None,
        archs=get("archs", ()) if cuda else (),
        compression=get("compression") if cuda else None,
        base_image=get("base_image"),
        driver_floor=get("driver_floor") if cuda else None,
        host_glibc=get("glibc"),
        host_libraries=get("host_libraries", ()),
        host_glibcxx=get("glibcxx"),
        host_cpu=get("cpu"),
        size_budget=get("size_budget"),
        targets=targets,
        smoke=row.values["smoke"],
        required=get("required")
        or (*required_checks(row.flavour, targets, compared="previous" in row.values), *_compilations(row)),
        waivers=(),
        on_demand=get("on_demand", False),
        combination=dict(row.combination),
        position=row.position,
        runner=get("runner", ()),
        places=dict(row.places),
        by_design=get("by_design", ()) if cuda else (),
        never_by_design=get("never_by_design", ()) if cuda else (),
        previous=get("previous"),
        may_lose=get("may_lose", ()),
        jit_sources=_jit_sources(row),
    )
