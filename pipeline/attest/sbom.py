"""A bill of materials of a release (CycloneDX 1.6): each bundle, what it was made from, and its files."""

from __future__ import annotations

import hashlib
import json
import tarfile
import uuid
import zipfile
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.attest.materials import materials
from pipeline.errors import CorruptInput
from pipeline.evidence import instant
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import IO

    from cyclonedx.model.component import Component

    from pipeline.attest.materials import Material
    from pipeline.gate import Approved

_CHUNK = 1 << 20
_NAMESPACE = uuid.UUID("7d0c3c1e-2f8e-5a5b-9d0a-6c7562696e67")  # of this document's serial numbers, drawn once


def bill_of_materials(approved: Sequence[Approved]) -> str:
    """The document; the same bundles and evidence make the same text.

    ``CorruptInput`` when a bundle cannot be opened.
    """
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository
    from cyclonedx.output.json import JsonV1Dot6

    digests = ",".join(sorted(item.artifact.sha256 for item in approved))
    tool = Component(name="cubingate", version=__version__, type=ComponentType.APPLICATION)
    bom = Bom(
        serial_number=uuid.uuid5(_NAMESPACE, digests),
        metadata=BomMetaData(timestamp=_newest(approved), tools=ToolRepository(components=[tool])),
        components=[_bundle(item) for item in approved],
    )
    for component in list(bom.components):
        bom.register_dependency(component, [part for part in component.components if part.type.value != "file"])
    return json.dumps(json.loads(JsonV1Dot6(bom).output_as_string()), indent=1, sort_keys=True) + "\n"


def _newest(approved: Sequence[Approved]) -> datetime:
    """When the last of the evidence was made: a document that says when it was printed is never the same twice."""
    records = (check.evidence for item in approved for check in item.verdict.checks if check.evidence is not None)
    return max(instant(record.finished) for record in records)


def _bundle(item: Approved) -> Component:
    from cyclonedx.model.component import ComponentType

    lane, artifact = item.verdict.lane, item.artifact
    parts = [_material(material, lane.id) for material in materials(lane)]
    files = [_file(name, sha256, lane.id) for name, sha256 in _members(artifact.path)]
    return _component(
        f"{lane.id}",
        type=ComponentType.APPLICATION,
        name=artifact.path.name,
        version=lane.bundle.version,
        sha256=artifact.sha256,
        components=[*parts, *files],
    )


def _material(material: Material, lane: str) -> Component:
    from cyclonedx.model.component import ComponentType
    from packageurl import PackageURL

    return _component(
        f"{lane}/{material.purl}",
        type=ComponentType.LIBRARY,
        name=material.name,
        version=material.version,
        sha256=material.sha256,
        purl=PackageURL.from_string(material.purl),
    )


def _file(name: str, sha256: str, lane: str) -> Component:
    from cyclonedx.model.component import ComponentType

    return _component(f"{lane}!/{name}", type=ComponentType.FILE, name=name, sha256=sha256)


def _component(reference: str, *, sha256: str | None = None, **fields: Any) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component

    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else []
    return Component(bom_ref=reference, hashes=hashes, **fields)


def _members(path: Path) -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of every regular file in a bundle; the bundle itself where it is no archive."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    if not info.is_dir():
                        yield printable(info.filename), _sha256(archive.open(info))
        elif tarfile.is_tarfile(path):
            with tarfile.open(path) as tar:
                for member in tar:
                    content = tar.extractfile(member) if member.isreg() else None
                    if content is not None:
                        yield printable(member.name), _sha256(content)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise CorruptInput(f"{path.name} cannot be listed for its bill of materials: {error}") from error


def _sha256(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
