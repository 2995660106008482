"""Each tag is one lane's, and where images lie follows from their names."""

from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.model.lane import BundleSpec, ImageTerms
from pipeline.publishers.oci_base import place_of
from pipeline.publishers.oci_tags import moving_tags, version_tags
from tests.values import cpu_lane

ONE, TWO = cpu_lane(id="one"), cpu_lane(id="two")


def test_a_version_s_tags() -> None:
    assert version_tags(ONE) == ("1.0-one", "1.0-one.bundle")


@pytest.mark.parametrize(
    ("tags", "lead", "found"),
    [
        ((), None, {"one": (), "two": ()}),
        (("{lane}",), None, {"one": ("one",), "two": ("two",)}),
        (("{lane}-{version}", "latest"), "two", {"one": ("one-1.0",), "two": ("two-1.0", "latest")}),
    ],
)
def test_moving_tags(tags: tuple[str, ...], lead: str | None, found: dict[str, tuple[str, ...]]) -> None:
    assert moving_tags(ImageTerms(tags=tags, lead=lead), (ONE, TWO)) == found


def test_the_one_lane_needs_no_lead() -> None:
    assert moving_tags(ImageTerms(tags=("latest",)), (ONE,)) == {"one": ("latest",)}


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        (ImageTerms(tags=("latest",)), "whose is the tag latest"),
        (ImageTerms(tags=("latest",), lead="three"), "lead: three is no lane"),
        (ImageTerms(tags=("{lane}", "two"), lead="one"), "that of one already"),
        (ImageTerms(tags=("{version}-{lane}",)), "1.0-one of one is that of one already"),
        (ImageTerms(tags=("1.0-two.bundle",), lead="one"), "that of two already"),
        (ImageTerms(tags=("-{lane}",)), "cannot be a tag"),
        (ImageTerms(tags=("{lane}" * 60,)), "cannot be a tag"),
    ],
)
def test_tags_of_two_lanes_or_none(terms: ImageTerms, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        moving_tags(terms, (ONE, TWO))


@pytest.mark.parametrize(
    ("name", "version", "other", "other_version", "tag"),
    [("one", "1.0", "one.bundle", "1.0", "1.0-one.bundle"), ("2-x", "1", "x", "1-2", "1-2-x")],
)
def test_a_version_s_tag_that_two_lanes_would_have_is_told(
    name: str, version: str, other: str, other_version: str, tag: str
) -> None:
    """One of them would be left out, and nobody told."""
    lanes = (
        cpu_lane(id=name, bundle=BundleSpec("server", version)),
        cpu_lane(id=other, bundle=BundleSpec("server", other_version)),
    )
    with pytest.raises(UsageError, match=f"the tag {tag} of {other} is that of {name} already"):
        moving_tags(ImageTerms(), lanes)


def test_a_version_that_cannot_be_in_a_tag_is_told() -> None:
    with pytest.raises(UsageError, match="cannot be a tag"):
        version_tags(cpu_lane(bundle=BundleSpec("server", "1" * 130)))


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("debian", "https://registry-1.docker.io/library/debian"),
        ("debian:bookworm-slim", "https://registry-1.docker.io/library/debian"),
        ("nvidia/cuda:12.8.1-runtime-ubuntu22.04", "https://registry-1.docker.io/nvidia/cuda"),
        ("docker.io/library/debian:12", "https://registry-1.docker.io/library/debian"),
        ("docker.io/debian", "https://registry-1.docker.io/library/debian"),
        ("nvcr.io/nvidia/cuda:12.8.1", "https://nvcr.io/nvidia/cuda"),
        ("nvcr.io/nvidia/cuda@sha256:00", "https://nvcr.io/nvidia/cuda"),
        ("127.0.0.1:5000/base:1", "http://127.0.0.1:5000/base"),
        ("localhost/base", "http://localhost/base"),
        ("localhost.example.org/base", "https://localhost.example.org/base"),
        ("127.0.0.1.example.org/base", "https://127.0.0.1.example.org/base"),
    ],
)
def test_where_an_image_lies(reference: str, address: str) -> None:
    place = place_of(reference)
    assert f"{place.scheme}://{place}" == address
