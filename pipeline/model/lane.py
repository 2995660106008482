"""What matrix.yaml promises, lane by lane: the declared side of every comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.model.base_image import BaseImage, Debootstrap
from pipeline.model.publisher import ImageTerms, Publisher
from pipeline.model.source import (
    BuildSource,
    GitSource,
    PathSource,
    PrebuiltFile,
    PrebuiltSource,
    PrebuiltUrl,
    PrebuiltWheel,
    SdistSource,
    Source,
)
from pipeline.model.target import CompressionMode, Flavour, Platform, Proof, Target
from pipeline.model.terms import EvidenceTerms, SigstoreIdentity

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.arch import TargetArch
    from pipeline.model.cpu import CpuLevel
    from pipeline.model.jit import JitSource
    from pipeline.model.versions import DriverVersion, GlibcVersion, GlibcxxVersion, ToolkitVersion

__all__ = [
    "BaseImage",
    "BuildRecipe",
    "BuildSource",
    "BundleSpec",
    "CompressionMode",
    "Debootstrap",
    "EvidenceTerms",
    "Flavour",
    "GitSource",
    "ImageTerms",
    "Lane",
    "PathSource",
    "Plan",
    "Platform",
    "Position",
    "PrebuiltFile",
    "PrebuiltSource",
    "PrebuiltUrl",
    "PrebuiltWheel",
    "Proof",
    "Publisher",
    "SdistSource",
    "ServedModel",
    "SigstoreIdentity",
    "SmokeSettings",
    "Source",
    "Target",
    "ToolkitOrigin",
    "Waiver",
]


class ToolkitOrigin(StrEnum):
    """Where the compiler of a lane comes from."""

    BASE_IMAGE = "base-image"
    WHEELS = "wheels"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The GGUF to serve: generated (the default) or a URL pinned by digest, which then names its own token."""

    url: str | None = None
    sha256: str | None = None
    expected_token: str | None = None


@dataclass(frozen=True, slots=True)
class SmokeBudgets:
    """How long a server may take at most, in seconds, and how much of a GPU's memory may stay taken.

    ``ready`` runs from the start to the first healthy answer, ``first_token`` and ``warm_token`` from a question to its
    one token, the first and the second time. ``None`` is no budget of the lane's own.
    """

    ready: float | None = None
    first_token: float | None = None
    warm_token: float | None = None
    gpu_mebibytes_left: float | None = None

    @property
    def any(self) -> bool:
        """Whether there is a limit on time."""
        return not self.ready is self.first_token is self.warm_token is None


GENERATED_MODELS = (
    *("family", "tiny", "f32", "f32-fa", "f16", "f16-fa", "bf16", "q8_0", "q8_0-fa", "q4_0", "q4_k", "q6_k"),
    *("iq4_nl", "iq4_xs", "iq3_xxs", "iq2_xxs", "moe-f16", "moe-q8_0", "moe-q4_k", "long-prompt", "slots", "stream"),
)
"""What ``SmokeSettings.models`` may name; ``family`` is all of the others."""

READINESS = ("/health", "/v1/models")
"""What is asked whether a server is ready: the first of these paths that it knows."""


@dataclass(frozen=True, slots=True)
class SmokeSettings:
    """How a bundle's server is started and how long it may take.

    ``command`` is run in the unpacked bundle; ``{bundle}``, ``{model}``, ``{host}`` and ``{port}`` are filled in,
    ``{device}`` by ``device_arguments[cpu|cuda]`` (spliced as separate words). Times are seconds. ``contain`` asks
    for a container of the lane's base image instead of a plain process. ``models`` are the generated models to serve
    one after the other, where ``model`` has no URL. ``log_probabilities`` is ``False`` for a server that cannot name
    them, whose answers are then compared by their token alone.
    """

    command: tuple[str, ...]
    device_arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    ready_timeout: float = 120.0
    token_timeout: float = 60.0
    stop_timeout: float = 10.0
    contain: bool = False
    readiness: tuple[str, ...] = READINESS
    model: ServedModel = field(default_factory=ServedModel)
    models: tuple[str, ...] = ("tiny",)
    log_probabilities: bool = True
    budgets: SmokeBudgets = field(default_factory=SmokeBudgets)


@dataclass(frozen=True, slots=True)
class Waiver:
    """A named exception: this check of this lane may fail until ``expires`` (ISO date), because of ``reason``.

    With ``rule`` only by findings of that rule, with ``path`` (a shell pattern inside the bundle) only of such members.
    """

    check: str
    reason: str
    owner: str
    expires: str
    rule: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class BundleSpec:
    """What is released: the asset is ``NAME-VERSION-linux-PLATFORM[-cudaX.Y].tar.gz``, one folder inside."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class BuildRecipe:
    """What turns the source into files: a Dockerfile of ``dockerfiles/`` and what is collected from it.

    ``defines`` are CMake cache entries, ``cmake_target`` is what is built, ``install`` maps a path in the build
    tree to one in the bundle, ``ship`` are toolkit libraries (globs) copied into the bundle's ``lib/``.
    """

    dockerfile: str
    cmake_target: str
    defines: dict[str, str] = field(default_factory=dict)
    install: dict[str, str] = field(default_factory=dict)
    ship: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in matrix.yaml, both numbers from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


LOSSES = (
    "arch-lost",
    "floor-raised",
    "codec-changed",
    "kernel-gone",
    "file-gone",
    "needed-added",
    "glibc-raised",
    "libstdcxx-raised",
    "size-grown",
)
"""The rules of a comparison with the bundle that was released before, gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One row of the expanded matrix, with everything that later stages need to know.

    ``archs`` is empty and ``toolkit``, ``driver_floor`` are ``None`` exactly for CPU lanes (and prebuilt lanes
    that do not declare them). ``required`` are the check ids that must have passing evidence, never empty:
    ``audit``, ``smoke@cpu``, ``load@SM@DRIVER``, ``smoke@SM@DRIVER`` and its like. ``runner`` are the labels of the CI
    runner that builds the lane (none: the workflow chooses); ``places`` says where each setting stands in matrix.yaml.
    ``by_design`` and ``never_by_design`` are shell patterns of libraries: those that dispatch between architectures
    themselves, and those in which every unit must serve every target. ``host_glibcxx`` and ``host_cpu`` are what the
    oldest promised host has, ``size_budget`` the most bytes of the asset; ``None`` where nothing is promised.
    ``previous`` is the bundle released before, with which check ``diff`` compares; ``may_lose`` are the rules of that
    comparison whose losses are meant. ``jit_sources`` are what the product compiles on its users' machines.
    """

    id: str
    bundle: BundleSpec
    flavour: Flavour
    platform: Platform
    source: Source
    recipe: BuildRecipe | None
    toolkit: ToolkitVersion | None
    toolkit_origin: ToolkitOrigin | None
    archs: tuple[TargetArch, ...]
    compression: CompressionMode | None
    base_image: BaseImage | None
    driver_floor: DriverVersion | None
    host_glibc: GlibcVersion | None
    host_libraries: tuple[str, ...]
    targets: tuple[Target, ...]
    smoke: SmokeSettings
    required: tuple[str, ...]
    waivers: tuple[Waiver, ...]
    on_demand: bool
    combination: dict[str, str]
    position: Position
    runner: tuple[str, ...] = ()
    places: dict[str, Position] = field(default_factory=dict)
    by_design: tuple[str, ...] = ()
    never_by_design: tuple[str, ...] = ()
    host_glibcxx: GlibcxxVersion | None = None
    host_cpu: CpuLevel | None = None
    size_budget: int | None = None
    previous: PrebuiltSource | None = None
    may_lose: tuple[str, ...] = ()
    jit_sources: tuple[JitSource, ...] = ()

    @property
    def prebuilt(self) -> bool:
        """Whether build means fetch."""
        return isinstance(self.source, PrebuiltFile | PrebuiltUrl | PrebuiltWheel)

    @property
    def asset_name(self) -> str:
        """The file that is published: ``NAME-VERSION-linux-PLATFORM[-cudaX.Y].tar.gz``."""
        cuda = f"-cuda{self.toolkit.major}.{self.toolkit.minor}" if self.toolkit else ""
        return f"{self.bundle.name}-{self.bundle.version}-linux-{self.platform}{cuda}.tar.gz"

    def place(self, setting: str) -> Position:
        """Where matrix.yaml sets ``setting`` for this lane; the lane's own place where it does not."""
        return self.places.get(setting, self.position)


@dataclass(frozen=True, slots=True)
class Plan:
    """The lanes of one matrix.yaml in matrix order, where approved bundles go, and which evidence approves."""

    matrix_file: Path
    lanes: tuple[Lane, ...]
    publishers: tuple[Publisher, ...]
    terms: EvidenceTerms = field(default_factory=EvidenceTerms)
