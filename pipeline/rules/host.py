"""What a host brings: the base system's libraries, the driver's, and those that the lane declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pipeline.policy.rows import Provider

if TYPE_CHECKING:
    from pipeline.policy.rows import HostLibrary
    from pipeline.rules.declaration import HostFloor


@dataclass(frozen=True, slots=True)
class HostOffer:
    """Libraries by SONAME: those of every host (a policy table) and the declared ones."""

    listed: dict[str, HostLibrary]
    declared: tuple[str, ...] = ()

    @classmethod
    def of(cls, listed: dict[str, HostLibrary], host: HostFloor | None) -> Self:
        """The table and a host floor."""
        return cls(listed, host.libraries if host is not None else ())

    def brings(self, name: str, *, complete: bool = False) -> bool:
        """Whether a host has the library. A ``complete`` image, with a C library of its own, gets only the driver's."""
        row = self.listed.get(name)
        if name in self.declared:
            return True
        return row is not None and (row.provider is Provider.DRIVER or not complete)

    def lacks_at_times(self, name: str) -> bool:
        """Whether the library is allowed to be needed and still absent from minimal images."""
        row = self.listed.get(name)
        return row is not None and not row.minimal and name not in self.declared
