"""Who asks is told to the registry that asks for it, the way it asks, and to nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from pipeline.errors import InfrastructureError, UsageError
from pipeline.model.lane import ImageTerms, Publisher
from pipeline.publishers.destination import destination
from pipeline.publishers.oci import Blob
from pipeline.publishers.registry import RegistryImages
from pipeline.publishers.registry_api import Place, Refusal, Repository
from pipeline.publishers.registry_auth import Authorization, Credentials
from tests.publishers import token_server
from tests.publishers.registry_server import HASHED, PASSWORD, USERNAME, Exchange, Front, before, registry
from tests.publishers.release_bundles import cpu_bundle
from tests.values import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.gate import Approved
    from tests.publishers.token_server import Tokens

WHO = Credentials(USERNAME, PASSWORD)
NAME = "acme/server"


def images(host: str, who: Credentials | None, item: Approved, name: str = NAME) -> RegistryImages:
    target = Repository(Place(host, name), who, f"repository:{name}:pull,push", sleep=lambda _: None)
    return RegistryImages(target, None, ImageTerms(tags=("latest",)), (item.verdict.lane,), POLICY)


@pytest.fixture
def item(tmp_path: Path) -> Approved:
    return cpu_bundle(tmp_path, "one")


@pytest.fixture
def basic(tmp_path: Path) -> Iterator[Front]:
    """A registry that asks for a name and a password."""
    (tmp_path / "users").write_text(f"{USERNAME}:{HASHED}\n")
    with registry(tmp_path, htpasswd={"realm": "r", "path": str(tmp_path / "users")}) as host, before(host) as front:
        yield front


def test_a_name_and_a_password_are_given_when_they_are_asked_for(basic: Front, item: Approved) -> None:
    place = images(basic.host, WHO, item)
    place.preflight()
    place.publish([item])
    assert basic.heard[0] == "", "nothing is said unasked"
    assert set(basic.heard[1:]) == {WHO.basic}


@pytest.mark.parametrize("who", [None, Credentials(USERNAME, "wrong-MARKER")])
def test_others_are_refused_once(basic: Front, item: Approved, who: Credentials | None) -> None:
    for step in (images(basic.host, who, item).preflight, lambda: images(basic.host, who, item).publish([item])):
        basic.requests = 0
        with pytest.raises(UsageError) as caught:
            step()
        assert "MARKER" not in f"{caught.value} {caught.value.__cause__!r}"
        assert basic.requests <= 2


@pytest.fixture
def tokens() -> Iterator[Tokens]:
    with token_server.serving(token_server.Tokens(WHO.basic)) as serving:
        yield serving


@pytest.fixture
def bearer(tmp_path: Path, tokens: Tokens) -> Iterator[Front]:
    """A registry that sends those who ask to a token service."""
    with registry(tmp_path, **tokens.settings(tmp_path)) as host, before(host) as front:
        yield front


def test_a_token_is_fetched_for_the_repository_and_used(bearer: Front, tokens: Tokens, item: Approved) -> None:
    place = images(bearer.host, WHO, item)
    place.preflight()
    place.publish([item])
    wanted = {"scope": [f"repository:{NAME}:pull,push"], "service": [token_server.SERVICE]}
    assert len(tokens.asked) <= 2, "giving an upload up may need more than pushing does"
    assert all(asked == (WHO.basic, wanted) for asked in tokens.asked)
    given = {f"Bearer {token}" for token in tokens.given}
    assert set(bearer.heard[1:]) == given, "the password went to the token service alone"


def test_a_token_that_expires_is_fetched_anew(bearer: Front, tokens: Tokens, item: Approved) -> None:
    """Before any request, in the middle of an upload too."""
    images(bearer.host, WHO, item).publish([item])
    for victim in range(2, bearer.requests, 2):
        place = images(bearer.host, WHO, item, f"{NAME}/{victim}")
        expired = f"Bearer {_expired(tokens, place.target.place.name)}"

        def expire(number: int, _: Exchange, place: RegistryImages = place, expired: str = expired) -> bool:
            if number == victim:  # noqa: B023 -- it is called in this turn only
                place.target._authorization.header = expired
            return False

        bearer.requests, bearer.mischief = 0, expire
        waits: list[float] = []
        place.target._sleep = waits.append
        place.publish([item])
        assert waits == [], "what was sent is sent anew from its beginning"
        assert expired in bearer.heard, "the registry saw it and refused"
        assert place.target.manifest("latest") is not None


def _expired(tokens: Tokens, name: str) -> str:
    tokens.lifetimes = [-600]
    return tokens.token({"scope": [f"repository:{name}:pull,push"]}, known=True)


def test_only_expired_tokens_are_told(bearer: Front, tokens: Tokens, item: Approved) -> None:
    tokens.lifetimes = [-600] * 20
    with pytest.raises(UsageError, match="401") as caught:
        images(bearer.host, WHO, item).publish([item])
    assert bearer.requests == 2
    assert not [token for token in tokens.given if token in str(caught.value)]


def test_a_stranger_may_read_and_not_push(bearer: Front, tokens: Tokens, item: Approved) -> None:
    images(bearer.host, WHO, item).publish([item])
    place = images(bearer.host, None, item)
    assert place.target.manifest("latest") is not None
    with pytest.raises(UsageError, match="401"):
        place.preflight()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((401, b"{}"), UsageError),
        ((403, b"{}"), UsageError),
        ((500, b"{}"), InfrastructureError),
        ((200, b"rubbish"), InfrastructureError),
        ((200, b"[]"), InfrastructureError),
        ((200, b'{"token": "a\\nb"}'), InfrastructureError),
        ((200, b'{"token": "' + b"a" * (2 << 20) + b'"}'), InfrastructureError),
        ((200, b"[" * 200_000), InfrastructureError),
    ],
)
def test_a_token_service_that_fails(
    bearer: Front, tokens: Tokens, item: Approved, answer: tuple[int, bytes], error: type[Exception]
) -> None:
    tokens.answer = answer
    with pytest.raises(error, match="token service") as caught:
        images(bearer.host, WHO, item).preflight()
    assert PASSWORD not in str(caught.value)


def test_a_registry_by_https_may_not_send_the_password_somewhere_in_the_clear() -> None:
    asked = 'Bearer realm="http://127.0.0.1:1/token",service="s"'
    with requests.Session() as session, pytest.raises(InfrastructureError, match="no https address"):
        Authorization(WHO, (), plain=False).renew(session, asked)


def test_an_upload_that_goes_elsewhere_takes_no_credentials_along(basic: Front, item: Approved) -> None:
    """Some registries keep blobs in a store of another name."""
    with before(basic.behind) as store:

        def elsewhere(_: int, exchange: Exchange) -> bool:
            if exchange.command != "POST":
                return False
            status, headers, content = exchange.asked()
            moved = [(key, value.replace(basic.host, store.host)) for key, value in headers]
            exchange.answer(status, moved, content)
            return True

        basic.mischief = elsewhere
        target = images(basic.host, WHO, item).target
        with pytest.raises(Refusal):
            target.send(Blob.of("text/plain", b"content"))
        assert store.calls
        assert set(store.heard) == {""}


def test_a_blob_that_lies_elsewhere_is_fetched_without_credentials(basic: Front, item: Approved) -> None:
    images(basic.host, WHO, item).publish([item])
    with before(basic.behind) as store:

        def elsewhere(_: int, exchange: Exchange) -> bool:
            if exchange.command != "GET" or "/blobs/" not in exchange.path or not exchange.headers["Authorization"]:
                return False
            exchange.answer(307, [("Location", f"http://{store.host}{exchange.path}?X-Amz-Signature=MARKER")], b"")
            return True

        basic.mischief = elsewhere
        with pytest.raises(UsageError) as caught:
            images(basic.host, WHO, item).publish([item])
        assert "MARKER" not in f"{caught.value} {caught.value.__cause__!r}"
        assert store.calls
        assert set(store.heard) == {""}


def test_a_store_that_asks_for_credentials_gets_none(bearer: Front, tokens: Tokens, item: Approved) -> None:
    """The registry may say where a token is fetched, and nobody whom it refers to."""
    images(bearer.host, WHO, item).publish([item])
    with before(bearer.behind) as store, token_server.serving(token_server.Tokens(WHO.basic)) as theirs:

        def elsewhere(_: int, exchange: Exchange) -> bool:
            if exchange.command != "GET" or "/blobs/" not in exchange.path or not exchange.headers["Authorization"]:
                return False
            exchange.answer(307, [("Location", f"http://{store.host}{exchange.path}")], b"")
            return True

        def ask(_: int, exchange: Exchange) -> bool:
            realm = f"http://127.0.0.1:{theirs.port}/token"
            exchange.answer(401, [("WWW-Authenticate", f'Bearer realm="{realm}",service="s"')], b"")
            return True

        bearer.mischief, store.mischief = elsewhere, ask
        with pytest.raises(UsageError, match="401"):
            images(bearer.host, WHO, item).publish([item])
        assert store.calls
        assert theirs.asked == []


def test_whose_credentials_go_where() -> None:
    def who(location: str, **environment: str) -> Credentials | None:
        place = destination(Publisher("i", "registry", location, partial=False, image=ImageTerms()), environment)
        assert isinstance(place, RegistryImages)
        return place.target._authorization._credentials

    assert who("ghcr.io/acme/server", GITHUB_TOKEN="ghs", GITHUB_ACTOR="bot") == Credentials("bot", "ghs")
    assert who("example.org/acme/server", GITHUB_TOKEN="ghs") is None, "GitHub's token is for GitHub"
    assert who("ghcr.io/a/b", GITHUB_TOKEN="g", REGISTRY_PASSWORD="p", REGISTRY_USERNAME="u") == Credentials("u", "p")
    assert "ghs" not in repr(Credentials("bot", "ghs"))
