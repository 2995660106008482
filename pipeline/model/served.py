"""How a bundle is served on every GPU generation that the tables know: what auditors conclude and installers read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion, GlibcVersion


class Service(StrEnum):
    """What becomes of the bundle's device code on a GPU, with the lowest driver on which all of it loads."""

    NATIVE = "native"
    JIT = "jit"
    """The driver compiles some of it on the user's machine."""
    NONE = "none"
    """No driver loads all of it there."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ServedGpu:
    """One GPU generation. ``minimum_driver`` is ``None`` where none is known to do.

    ``reason`` is the rule that blocks the next lower driver; ``last_branch`` the GPU's last one, ``None`` while it is
    still served; ``tegra`` marks integrated GPUs.
    """

    sm: int
    service: Service
    minimum_driver: DriverVersion | None
    reason: str
    last_branch: int | None
    tegra: bool

    def to_json(self) -> dict[str, Any]:
        """Its row of ``serves.gpus`` in documents."""
        return {
            "sm": str(self.sm),
            "served": self.service.value,
            "minimum_driver": str(self.minimum_driver) if self.minimum_driver else None,
            "reason": self.reason,
            "last_branch": self.last_branch,
            "tegra": self.tegra,
        }


@dataclass(frozen=True, slots=True)
class Serves:
    """Every GPU generation of the tables of ``policy_date``, whose newest driver branch is ``newest_branch``.

    ``glibc`` is the highest symbol version that a host file needs, ``None`` where none needs any or all is brought.
    """

    policy_date: str
    newest_branch: int
    glibc: GlibcVersion | None
    gpus: tuple[ServedGpu, ...]

    def to_json(self) -> dict[str, Any]:
        """The part ``serves`` of documents."""
        return {
            "policy_date": self.policy_date,
            "newest_branch": self.newest_branch,
            "glibc": str(self.glibc) if self.glibc else None,
            "gpus": [gpu.to_json() for gpu in self.gpus],
        }
