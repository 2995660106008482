from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.binary import FormatError
from pipeline.formats.oci import DOCUMENT, Index, Manifest, parse_config, parse_manifest, parse_saved

DIGEST = "sha256:" + "0" * 64
ROW = {"mediaType": "m", "digest": DIGEST, "size": 3}
MEMBERS = ["config", "layers", "manifests", "digest", "size", "platform", "annotations", "urls", "mediaType"]
SETTINGS = ["rootfs", "diff_ids", "Env", "Labels", "Config", "Layers", "RepoTags", "os", "architecture"]
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([DIGEST, "blobs"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS + SETTINGS), inner, max_size=6),
    max_leaves=25,
)


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def test_an_index() -> None:
    rows: list[dict[str, Any]] = [
        {**ROW, "platform": {"os": "linux", "architecture": "arm", "variant": "v7"}},
        {**ROW, "annotations": {"org.opencontainers.image.ref.name": "1.0"}},
        {**ROW, "annotations": {"vnd.docker.reference.type": "attestation-manifest"}},
        {**ROW, "platform": {"os": "unknown", "architecture": "unknown"}},
    ]
    index = parse_manifest(dumped({"manifests": rows}))
    assert isinstance(index, Index)
    assert [row.platform for row in index.manifests] == ["linux/arm/v7", "", "unknown", "unknown/unknown"]
    assert [row.is_attestation for row in index.manifests] == [False, False, True, True]
    assert index.manifests[1].name == "1.0"


def test_a_manifest() -> None:
    foreign = {**ROW, "mediaType": "application/vnd.oci.image.layer.nondistributable.v1.tar", "urls": ["https://x"]}
    manifest = parse_manifest(dumped({"config": ROW, "layers": [ROW, foreign]}))
    assert isinstance(manifest, Manifest)
    assert [(row.is_foreign, row.urls) for row in manifest.layers] == [(False, ()), (True, ("https://x",))]


def test_a_configuration() -> None:
    config = parse_config(
        dumped(
            {
                "os": "linux",
                "architecture": "amd64",
                "config": {"Env": ["PATH=/bin", "EMPTY=", "BARE"], "Labels": {"a": "b"}},
                "rootfs": {"type": "layers", "diff_ids": [DIGEST]},
            }
        )
    )
    assert (config.platform, config.diff_ids, config.labels) == ("linux/amd64", (DIGEST,), {"a": "b"})
    assert config.environment == {"PATH": "/bin", "EMPTY": "", "BARE": ""}
    assert parse_config(dumped({"config": None, "rootfs": {"diff_ids": []}})).environment == {}


def test_what_docker_saved() -> None:
    (first, second) = parse_saved(
        dumped(
            [
                {"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["l/layer.tar"]},
                {"Config": "d", "RepoTags": None, "Layers": []},
            ]
        )
    )
    assert (first.config, first.layers, first.name) == ("c.json", ("l/layer.tar",), "a:1")
    assert second.name == ""


@pytest.mark.parametrize("parse", [parse_manifest, parse_config, parse_saved])
@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"{" * 100_000, b"7" * 10_000, b" " * (DOCUMENT + 1), b"null", b"[]", b"{}"]
)
def test_no_such_documents(parse: Any, data: bytes) -> None:
    with pytest.raises(FormatError):
        parse(data)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    for parse in (parse_manifest, parse_config, parse_saved):
        try:
            parse(dumped(value))
        except FormatError:
            continue
