"""The section ``evidence`` of matrix.yaml: its form, and which evidence counts as a value of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.matrix.containers import Items, Key, Record
from pipeline.matrix.definitions import mapping, sound, text, words
from pipeline.matrix.kinds import Choice, Flag, Integer, Text
from pipeline.matrix.mistakes import Mistake
from pipeline.matrix.nodes import ListNode, ScalarNode
from pipeline.matrix.sections import PATH
from pipeline.model.lane import EvidenceTerms, SigstoreIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.matrix.nodes import MapNode, Node

# A star before the "@" would let in every workflow, and one in an e-mail address every domain.
_IDENTITY = Text(
    "an e-mail address or a workflow's address, * allowed at the end behind its @",
    "https://github.com/owner/name/.github/workflows/release.yml@refs/tags/v1",
    r"https?://[^\s*@]+(@[^\s*@]+\*?)?|[^\s*@/:]+@[^\s*@/:]+",
)
_ISSUER = Text("an issuer's address", "https://token.actions.githubusercontent.com", r"https?://[^\s]+")
_REPOSITORY = Text("a repository's address", "https://github.com/owner/name", r"https?://[^\s]+")

SIGSTORE_IDENTITY = Record(
    "an identity",
    (
        Key(
            "identity", _IDENTITY, "Subject of the certificate; * at the end of a workflow's ref is any.", required=True
        ),
        Key("issuer", _ISSUER, "Who vouched for it: the OIDC issuer.", required=True),
        Key("repository", _REPOSITORY, "Where the workflow must have run: needed where others may call it."),
    ),
)

EVIDENCE = Record(
    "terms of evidence",
    (
        Key("signed", Choice(("required", "optional")), "Whether a record needs a trusted signature (optional)."),
        Key("keys", Items(PATH, unique=True), "Public keys (PEM) whose signatures are trusted."),
        Key("sigstore", Items(SIGSTORE_IDENTITY, least=1), "Identities whose sigstore bundles are trusted."),
        Key("trusted_root", PATH, "Sigstore's trusted root (default: the public one that the library carries)."),
        Key("max_age_days", Integer("a number of days", 1, 3650), "Oldest record that counts."),
        Key("same_commit", Flag(), "Whether a record must come from the commit that is released (default false)."),
    ),
)


def read_terms(root: MapNode, folder: Path, mistakes: list[Mistake]) -> EvidenceTerms:
    """Which evidence counts; the default terms where the file has mistakes in them."""
    entry = root.find("evidence")
    if entry is None or not sound(EVIDENCE, entry.value):
        return EvidenceTerms()
    parts = mapping(entry.value)
    mistakes += _meaningless(parts)
    return EvidenceTerms(
        signed="signed" in parts and text(parts["signed"]) == "required",
        keys=tuple(folder / key for key in words(parts["keys"])) if "keys" in parts else (),
        max_age_days=_days(parts),
        same_commit=_is_true(parts.get("same_commit")),
        identities=tuple(_identities(parts.get("sigstore"))),
        trusted_root=folder / text(parts["trusted_root"]) if "trusted_root" in parts else None,
    )


def _meaningless(parts: dict[str, Node]) -> Iterator[Mistake]:
    required = parts.get("signed")
    if required is not None and text(required) == "required" and not {"keys", "sigstore"} & parts.keys():
        yield Mistake(required.position, "nobody's signature is trusted", "add keys: [release.pub], or sigstore: […]")
    if "trusted_root" in parts and "sigstore" not in parts:
        where = parts["trusted_root"].position
        yield Mistake(where, "a trusted root without an identity", "add sigstore: [{identity, issuer}]")


def _identities(node: Node | None) -> Iterator[SigstoreIdentity]:
    for item in node.items if isinstance(node, ListNode) else ():
        parts = mapping(item)
        repository = text(parts["repository"]) if "repository" in parts else None
        yield SigstoreIdentity(text(parts["identity"]), text(parts["issuer"]), repository)


def _days(parts: dict[str, Node]) -> int | None:
    node = parts.get("max_age_days")
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, int) else None


def _is_true(node: Node | None) -> bool:
    return isinstance(node, ScalarNode) and node.value is True
