"""The stand-in answers in the shape that GitHub's published OpenAPI description gives (githubkit-schemas)."""

from __future__ import annotations

import pytest
from githubkit_schemas.latest import models

from tests.publishers.github_server import Hub, StoredAsset, StoredRelease


def test_releases_and_assets_have_the_published_shape() -> None:
    hub = Hub(port=1)
    release = StoredRelease(1, "v1", "body", assets=[StoredAsset(2, "a", b"bytes")])
    for draft in (True, False):
        release.draft = draft
        models.Release.model_validate(hub.release_row(release))
    models.ReleaseAsset.model_validate(hub.asset_row(release.assets[0], release.tag))


def test_tags_have_the_published_shape() -> None:
    hub = Hub(port=1, tags={"a/b": "1" * 40, "v1": "2" * 40}, annotated={"2" * 40: ("commit", "1" * 40)})
    for tag in hub.tags:
        models.GitRef.model_validate(hub.ref_row(tag))
    models.GitTag.model_validate(hub.tag_row("2" * 40))


def test_the_fields_that_are_read_are_required_there() -> None:
    """What ``github_api`` reads without a default is always sent."""
    required = {name for name, field in models.Release.model_fields.items() if field.is_required()}
    assert {"id", "tag_name", "draft", "upload_url", "html_url"} <= required
    required = {name for name, field in models.ReleaseAsset.model_fields.items() if field.is_required()}
    assert {"id", "name", "size", "state"} <= required


def test_a_release_without_a_required_field_is_refused_by_the_models() -> None:
    row = Hub(port=1).release_row(StoredRelease(1, "v1", "body"))
    del row["upload_url"]
    with pytest.raises(ValueError, match="upload_url"):
        models.Release.model_validate(row)
