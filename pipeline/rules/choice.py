"""The driver's choice as a value: which entry of a container, how it is served, and what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.rules.obstacle import Certainty

if TYPE_CHECKING:
    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.unit import Image

SUCCESS = "CUDA_SUCCESS"


class JitPass(StrEnum):
    """How the driver is told to treat PTX: by no variable, ``CUDA_DISABLE_PTX_JIT=1``, ``CUDA_FORCE_PTX_JIT=1``."""

    AS_IS = "as-is"
    FORBIDDEN = "jit-forbidden"
    FORCED = "jit-forced"


class Via(StrEnum):
    """How a container is served."""

    CUBIN = "cubin"
    JIT = "jit"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Selection:
    """The driver's choice: the entry, how it is served, and what stands in the way, decisive one first."""

    image: Image | None
    via: Via
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def result(self) -> str:
        """The CUDA error name, ``CUDA_SUCCESS`` when nothing certain stands in the way."""
        return next((item.error for item in self.obstacles if item.certainty is Certainty.CERTAIN), SUCCESS)

    @property
    def loads(self) -> bool:
        """Whether the container loads, beyond doubt."""
        return not self.obstacles

    @property
    def doubtful(self) -> bool:
        """Whether nothing is known to fail but something is not known to work."""
        return bool(self.obstacles) and self.result == SUCCESS
