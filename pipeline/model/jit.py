"""What a product compiles on its users' machines, as matrix.yaml declares it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.source import PrebuiltWheel
    from pipeline.model.versions import ToolkitVersion


class JitLanguage(StrEnum):
    """What the source is written in, which decides who compiles it."""

    CUDA = "cuda"
    TRITON = "triton"
    PTX = "ptx"


class JitOutput(StrEnum):
    """What the product hands to the driver: machine code of its own compiler's, or PTX."""

    CUBIN = "cubin"
    PTX = "ptx"


@dataclass(frozen=True, slots=True, kw_only=True)
class JitSource:
    """Kernel sources that are compiled at run time, and how.

    ``files`` are paths below ``folder``, or below the unpacked bundle where that is ``None``; each is a compilation of
    its own. ``content`` is the digest of everything below ``folder`` that the compiler may read, empty for files of the
    bundle, whose digest is known anyway. ``toolkits`` are CUDA's versions whose compilers users have; Triton's own
    assembler is used where there are none. ``instances`` are the template instances that the product asks NVRTC for,
    ``entry``, ``signature`` and ``constants`` what Triton is asked for. ``arch_suffix`` (``a``, ``f``) is asked for on
    GPUs that have such a target. ``dynamic_shared`` are bytes for each block, asked for at launch. The source is
    meant for GPUs from ``from_sm`` up to ``up_to_sm``. ``time_limit`` are seconds of processor time, ``memory_limit``
    bytes of address space.
    """

    name: str
    language: JitLanguage
    files: tuple[str, ...]
    folder: Path | None
    content: str = ""
    toolkits: tuple[ToolkitVersion, ...] = ()
    include: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    entry: str = ""
    signature: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    stubs: tuple[str, ...] = ()
    triton: PrebuiltWheel | None = None
    output: JitOutput = JitOutput.CUBIN
    arch_suffix: str = ""
    dynamic_shared: int = 0
    from_sm: int = 0
    up_to_sm: int = 999
    time_limit: float = 60.0
    memory_limit: int = 16 << 30

    def serves(self, sm: int) -> bool:
        """Whether the product compiles it on that GPU."""
        return self.from_sm <= sm <= self.up_to_sm
