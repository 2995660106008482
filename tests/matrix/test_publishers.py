"""A registry's images are on a base that is pinned, or on none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.matrix.load import load_plan
from tests.matrix.files import CPU, HEAD, mistakes, write

if TYPE_CHECKING:
    from pathlib import Path

PINNED = "sha256:" + 64 * "a"


def matrix(publisher: str, *, digest: str = f", digest: '{PINNED}'") -> str:
    head = HEAD.replace("base_images:\n", f"base_images:\n  slim: {{reference: 'debian:bookworm-slim'{digest}}}\n")
    return f"{head}\nmatrix: {{include: [{CPU}]}}\npublishers:\n  images: {{kind: registry, {publisher}}}\n"


def test_a_registry_and_what_its_images_are_made_of(tmp_path: Path) -> None:
    words = "image: ghcr.io/acme/server, base: slim, tags: ['{lane}', latest], lead: cpu, licenses: MIT, insecure: true"
    (publisher,) = load_plan(write(tmp_path, matrix(words))).publishers
    assert (publisher.kind, publisher.location, publisher.partial) == ("registry", "ghcr.io/acme/server", False)
    terms = publisher.image
    assert terms is not None
    assert (terms.base and terms.base.digest, terms.tags, terms.lead) == (PINNED, ("{lane}", "latest"), "cpu")
    assert (terms.licenses, terms.source, terms.insecure) == ("MIT", None, True)


@pytest.mark.parametrize(("words", "insecure"), [("", False), (", insecure: true", True), (", insecure: false", False)])
def test_an_index_and_whether_http_will_do(tmp_path: Path, words: str, insecure: bool) -> None:
    content = f"kind: python-index, upload: 'http://i.example.org/', simple: 'http://i.example.org/simple/'{words}"
    (publisher,) = load_plan(write(tmp_path, matrix("X").replace("kind: registry, X", content))).publishers
    assert (publisher.kind, publisher.insecure) == ("python-index", insecure)


def test_without_a_base_the_image_is_the_bundle_alone(tmp_path: Path) -> None:
    (publisher,) = load_plan(write(tmp_path, matrix("image: '127.0.0.1:5000/server'"))).publishers
    assert publisher.image is not None
    assert publisher.image.base is None


@pytest.mark.parametrize(
    ("publisher", "digest", "told"),
    [
        ("image: ghcr.io/a/b, base: slym", f", digest: '{PINNED}'", "write 'slim'"),
        ("image: ghcr.io/a/b, base: slim", "", "not pinned by a digest"),
        ("image: owner/name", f", digest: '{PINNED}'", "not a registry's repository"),
        ("image: ghcr.io/Acme/b", f", digest: '{PINNED}'", "not a registry's repository"),
        ("image: ghcr.io/a/b, tags: ['{lan}']", f", digest: '{PINNED}'", "not a tag"),
    ],
)
def test_mistakes(tmp_path: Path, publisher: str, digest: str, told: str) -> None:
    found = mistakes(tmp_path, matrix(publisher, digest=digest))
    assert len(found) == 1, found
    assert told in found[0]
