"""Which evidence counts: how old, from where, and whose signature makes it authentic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SigstoreIdentity:
    """Somebody whose sigstore bundles count: the certificate's subject, and who vouched for it.

    ``identity`` is an e-mail address or a workflow's address, and may end in ``*`` for any rest. ``repository`` is the
    address of the repository that the workflow ran for, which a reusable workflow does not name; ``None`` is any.
    """

    identity: str
    issuer: str
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceTerms:
    """Which evidence counts: ``signed`` by one of ``keys`` (public, PEM), at most so many days old, of this commit.

    ``identities`` sign by sigstore bundles; ``trusted_root`` is the file that those are held against, ``None`` the
    public one that the library carries.
    """

    signed: bool = False
    keys: tuple[Path, ...] = ()
    max_age_days: int | None = None
    same_commit: bool = False
    identities: tuple[SigstoreIdentity, ...] = ()
    trusted_root: Path | None = None
