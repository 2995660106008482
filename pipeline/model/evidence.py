"""A recorded outcome, bound to the exact bytes and the exact promise that it is about."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.model.finding import Outcome


CHECK_KINDS = frozenset({"build", "audit", "diff", "rehearse", "jit", "load", "smoke"})
"""What stands before the first ``@`` of a check."""


def hashed(uuid: str) -> str:
    """A UUID as shared reports show it: the same card is recognized, nobody is told which it is."""
    return hashlib.sha256(uuid.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where something was observed. ``device`` is ``cpu`` or ``cuda``; the GPU fields are ``None`` without one.

    ``stand_in`` names what was not the real thing (a locally made base image, say); evidence says so.
    """

    platform: str
    kernel: str
    glibc: str | None
    device: str
    engine: str | None = None
    gpu: str | None = None
    uuid: str | None = None
    sm: int | None = None
    driver: str | None = None
    stand_in: str | None = None

    @property
    def target(self) -> str | None:
        """The target that this machine is, ``80@535.288.01``; ``None`` for a CPU."""
        if self.device != "cuda" or self.sm is None or self.driver is None:
            return None
        return f"{self.sm}@{self.driver}"

    @property
    def shared(self) -> Machine:
        """The same machine as reports and evidence show it: its GPU's UUID hashed."""
        return replace(self, uuid=hashed(self.uuid)) if self.uuid else self

    def to_json(self) -> dict[str, Any]:
        """Every field by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """By what and for what a record was made.

    ``tool`` is this program's version, ``policy`` the digest of its tables; ``commit`` and ``run`` are those of the
    workflow, ``None`` outside of one.
    """

    tool: str
    policy: str
    commit: str | None = None
    run: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Every field by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one check concluded about one bundle.

    ``subject`` is the bundle's SHA-256; ``scope`` the digest of the promise that was checked (targets, floors, how
    to serve), so that evidence for yesterday's promise never approves today's. ``started`` and ``finished`` are UTC,
    ISO 8601. ``document`` is the check's own JSON document. ``signed_by`` are the trusted keys and identities that
    signed it; without one it is unauthenticated: anybody may have written it. ``strangers`` signed it too, and are
    trusted by nobody.
    """

    subject: str
    lane: str
    check: str
    scope: str
    outcome: Outcome
    machine: Machine
    started: str
    finished: str
    document: dict[str, Any]
    origin: Origin
    signed_by: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
