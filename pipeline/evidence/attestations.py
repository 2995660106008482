"""Sigstore bundles beside records: ``RECORD.json.sigstore.json`` signs one, any other name all that it is about.

Of the second kind are what a workflow's step makes over all records of a job; they lie in the bundle's own folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import CorruptInput
from pipeline.evidence.content import content_of
from pipeline.evidence.sigstore_bundle import SUFFIX
from pipeline.evidence.witness import WrongSignature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pipeline.evidence.sigstore_bundle import BundleReader
    from pipeline.evidence.witness import Witness

T = TypeVar("T")

_LARGEST = 16 << 20  # bytes of one bundle: a thousand subjects have some hundred thousand


def is_attestation(path: Path) -> bool:
    """Whether a file among evidence is a bundle about records, and no record."""
    return path.name.endswith(SUFFIX)


def refuse_orphans(paths: Sequence[Path]) -> None:
    """``CorruptInput`` where a signature is and its record is not: somebody took the record away."""
    for path in paths:
        if is_attestation(path) and path.with_name(path.name.removesuffix(SUFFIX)) not in paths:
            raise CorruptInput(
                "evidence lacks a record that was signed", remedy=f"bring the record back, or remove {path}"
            )


@dataclass(frozen=True, slots=True)
class Attestations:
    """Who signed the records of one bundle from outside of them; nobody where no identity is trusted."""

    reader: BundleReader | None
    shared: Mapping[str, tuple[Witness, ...]]

    @classmethod
    def read(cls, paths: Iterable[Path], reader: BundleReader | None) -> Attestations:
        """Verify the bundles that may be about several records.

        ``CorruptInput`` for one that does not verify, ``InfrastructureError`` for one that cannot be read.
        """
        found: dict[str, tuple[Witness, ...]] = {}
        if reader is not None:
            for path in paths:
                digests, witness = _verified(path, reader.subjects)
                found |= {digest: (*found.get(digest, ()), witness) for digest in digests}
        return cls(reader, found)

    def witnesses(self, record: Path, sha256: str) -> tuple[Witness, ...]:
        """Who signed this record, by a bundle of its own too; errors as for ``read``."""
        signed, reader = self.shared.get(sha256, ()), self.reader
        own = record.with_name(record.name + SUFFIX)
        if reader is None or not own.is_file():
            return signed
        return (*signed, _verified(own, lambda written: reader.about(written, sha256)))


def _verified(path: Path, verify: Callable[[bytes], T]) -> T:
    content = content_of(path, "a sigstore bundle", _LARGEST, f"make it readable, or remove it: {path}")
    try:
        return verify(content)
    except WrongSignature as error:
        raise CorruptInput(str(error), remedy=f"sign the evidence again, or remove the file: {path}") from error
