"""A token goes to GitHub's own upload host, whatever address an answer names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError
from pipeline.policy.unknown import InconsistentTables
from pipeline.publishers.github_hosts import check_upload
from tests.publishers.github_server import Exchange, Hub, StoredRelease, serving
from tests.publishers.test_directory import approved
from tests.publishers.test_github import TAG, releases

if TYPE_CHECKING:
    from pathlib import Path

API, PATH = "https://api.github.com/repos/o/n", "/repos/o/n/releases/1/assets"
ENTERPRISE = "https://github.example.org/api/v3/repos/o/n"
TENANT = "https://api.acme.ghe.com/repos/o/n"


@pytest.mark.parametrize(
    ("api", "upload"),
    [
        (API, "https://uploads.github.com"),
        (API, "https://UPLOADS.github.com"),
        (TENANT, "https://uploads.acme.ghe.com"),
        (ENTERPRISE, "https://github.example.org/api/uploads"),
        ("http://127.0.0.1:8080/repos/o/n", "http://127.0.0.1:8080"),
    ],
)
def test_where_github_says_that_files_go(api: str, upload: str) -> None:
    check_upload(upload + PATH, api)


@pytest.mark.parametrize(
    ("api", "upload"),
    [
        (API, "http://uploads.github.com"),
        (API, "https://uploads.github.com.example.org"),
        (API, "https://uploads.github.com:8443"),
        (API, "https://uploads.github.com@example.org"),
        (API, "https://example.org\\@uploads.github.com"),
        (API, "https://somebody:secret@uploads.github.com"),
        (API, "ftp://uploads.github.com"),
        (API, "https://github.com"),
        (API, "https://[::1"),
        (API, ""),
        (TENANT, "https://uploads.other.ghe.com"),
        (TENANT, "https://uploads.github.com"),
        (ENTERPRISE, "http://github.example.org/api/uploads"),
        (ENTERPRISE, "https://uploads.github.com"),
        ("http://127.0.0.1:8080/repos/o/n", "http://127.0.0.1:8081"),
        ("https://api.a.b.ghe.com/repos/o/n", "https://uploads.b.ghe.com"),
    ],
)
def test_no_other_host_and_nothing_in_the_clear(api: str, upload: str) -> None:
    with pytest.raises(InfrastructureError, match=r"for uploads|that is none") as caught:
        check_upload(upload + PATH, api)
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)


class Elsewhere(Hub):
    """A repository whose releases say that files go to another server."""

    uploads = ""

    def release_row(self, release: StoredRelease) -> dict[str, object]:
        return super().release_row(release) | {"upload_url": f"{self.uploads}{PATH}{{?name,label}}"}


def test_another_server_sees_neither_file_nor_token(tmp_path: Path) -> None:
    with serving(Hub()) as stranger, serving(Elsewhere()) as hub:
        assert isinstance(hub, Elsewhere)
        hub.uploads = stranger.api
        seen: list[str | None] = []

        def heard(_: int, exchange: Exchange) -> bool:
            seen.append(exchange.headers["Authorization"])
            return False

        stranger.mischief = heard
        with pytest.raises(InfrastructureError, match="for uploads"):
            releases(hub).publish([approved(tmp_path, "one")])
    assert (seen, TAG in hub.public()) == ([], False)


def test_every_row_has_a_source(tmp_path: Path) -> None:
    (tmp_path / "github_hosts.csv").write_text("api,uploads,source,date\na,b,,2026-12-01\n")
    with pytest.raises(InconsistentTables):
        check_upload("https://b/", "https://a", tmp_path)
