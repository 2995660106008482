"""The few calls of GitHub's REST API (version 2022-11-28) that a release needs, and what its answers mean.

No token and no signed address is ever part of a message: errors name the call, the status and GitHub's own words.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import InfrastructureError, UsageError
from pipeline.model.paths import printable
from pipeline.publishers.github_hosts import check_upload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import requests

    from pipeline.publishers.staging import ReleaseFile

API = "https://api.github.com"
"""Unless ``GITHUB_API_URL`` says otherwise, as it does in a workflow on an enterprise server."""
VERSION = "2022-11-28"
_TIMEOUT = (10.0, 60.0)  # seconds to connect, seconds without a byte
_PAUSES = (1.0, 4.0, 10.0)  # seconds before each further attempt at a call that may be repeated
_LONGEST_WAIT = 120.0  # seconds that a rate limit may ask for
_PAGE = 100
_MOST_PAGES = 50
_MOST_TAGS = 5  # an annotated tag may be of another one
_CHUNK = 1 << 20
_WORDS = 200  # characters of an answer that a message repeats


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a release as GitHub lists it. ``complete`` is false for what an interrupted upload left."""

    id: int
    name: str
    size: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Release:
    """A release as GitHub lists it."""

    id: int
    tag: str
    draft: bool
    body: str
    upload_url: str
    html_url: str


class Refusal(Exception):
    """GitHub said no to one call."""

    def __init__(self, call: str, status: int, words: str) -> None:
        super().__init__(f"GitHub answers {status} to {call}: {words}")
        self.status = status


class Github:
    """One repository. Calls raise ``Refusal`` for a no, ``InfrastructureError`` when GitHub cannot be asked."""

    def __init__(self, api: str, repository: str, token: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
        from pipeline.publishers.connection import Connection

        self._api = f"{api.rstrip('/')}/repos/{repository}"
        self._sleep = sleep
        self._token = token
        self._session = Connection()
        self._session.headers.update(
            {
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {token}",
                "X-GitHub-Api-Version": VERSION,
                "User-Agent": "cubingate",
            }
        )

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def may_push(self) -> bool:
        """Whether the token may write to the repository, which making a release needs."""
        permissions = self._repository().get("permissions")
        return isinstance(permissions, dict) and permissions.get("push") is True

    def public_release(self, tag: str) -> Release | None:
        """The published release of a tag; drafts have none."""
        from urllib.parse import quote

        try:
            return _release(self._json("GET", f"/releases/tags/{quote(tag, safe='')}"))
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise

    def tag_commit(self, tag: str) -> str | None:
        """The commit that a tag of the repository points at, ``None`` where there is no such tag."""
        from urllib.parse import quote

        try:
            kind, sha = _object(self._json("GET", f"/git/ref/tags/{quote(tag)}"))
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise
        for _ in range(_MOST_TAGS):
            if kind != "tag":
                return sha
            kind, sha = _object(self._json("GET", f"/git/tags/{sha}"))
        raise InfrastructureError(f"GitHub says that {tag} is a tag of tags without end")

    def release(self, number: int) -> Release:
        """A release by its id."""
        return _release(self._json("GET", f"/releases/{number}"))

    def releases(self) -> Iterator[Release]:
        """All releases, drafts included, newest first."""
        yield from map(_release, self._pages("/releases"))

    def create_draft(self, tag: str, name: str, body: str, commit: str | None) -> Release:
        """A new draft; nobody sees it, and no tag is made."""
        content = {"tag_name": tag, "name": name, "body": body, "draft": True}
        if commit is not None:
            content["target_commitish"] = commit
        # Not repeated: an answer that was lost would leave a second draft.
        return _release(self._json("POST", "/releases", content, repeat=False))

    def make_public(self, release: Release, body: str) -> Release:
        """Publish a draft; ``body`` are its notes, in Markdown."""
        return _release(self._json("PATCH", f"/releases/{release.id}", {"draft": False, "body": body}))

    def assets(self, release: Release) -> tuple[Asset, ...]:
        """The files of a release."""
        return tuple(map(_asset, self._pages(f"/releases/{release.id}/assets")))

    def upload(self, release: Release, file: ReleaseFile) -> None:
        """Send one file, once: what an interrupted upload leaves has to be deleted before another attempt."""
        address = release.upload_url.partition("{")[0]
        check_upload(address, self._api)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.size)}
        with file.path.open("rb") as content:
            self._answer("POST", address, params={"name": file.name}, data=content, headers=headers)

    def delete(self, asset: Asset) -> None:
        """Delete a file of a draft."""
        try:
            self._repeated("DELETE", f"{self._api}/releases/assets/{asset.id}")
        except Refusal as refusal:
            if refusal.status != 404:  # an earlier attempt, whose answer was lost, did it
                raise

    def digest(self, asset: Asset) -> str:
        """SHA-256 of what is downloaded as this file."""
        import requests

        headers = {"Accept": "application/octet-stream"}
        answer = self._repeated("GET", f"{self._api}/releases/assets/{asset.id}", headers=headers, stream=True)
        digest, size = hashlib.sha256(), 0
        try:
            for chunk in answer.iter_content(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
                if size > asset.size:
                    break  # more than was sent: it is other bytes, however many there are
        except requests.RequestException as error:
            raise _unreachable("the download of an asset", error) from None
        finally:
            answer.close()
        return digest.hexdigest()

    def _repository(self) -> dict[str, Any]:
        answer = self._json("GET", "")
        if not isinstance(answer, dict):
            raise InfrastructureError("GitHub answers something other than a repository")
        return answer

    def _pages(self, path: str) -> Iterator[Any]:
        for page in range(1, _MOST_PAGES + 1):
            rows = self._json("GET", f"{path}?per_page={_PAGE}&page={page}")
            if not isinstance(rows, list):
                raise InfrastructureError(f"GitHub answers no list to GET {path}")
            yield from rows
            if len(rows) < _PAGE:
                return
        raise InfrastructureError(f"GitHub lists more than {_MOST_PAGES * _PAGE} entries under {path}")

    def _json(self, verb: str, path: str, content: object = None, *, repeat: bool = True) -> Any:
        call = self._repeated if repeat else self._answer
        answer = call(verb, self._api + path, json=content)
        try:
            return answer.json()
        except (ValueError, RecursionError):
            raise InfrastructureError(f"GitHub answers something other than JSON to {verb} {path}") from None

    def _repeated(self, verb: str, address: str, **settings: Any) -> requests.Response:
        """A call that may be made again: what it asks for is the same whether it was done once or twice."""
        for pause in _PAUSES:
            try:
                return self._answer(verb, address, **settings)
            except InfrastructureError:
                self._sleep(pause)
            except Refusal as refusal:
                if refusal.status < 500:
                    raise
                self._sleep(pause)
        return self._answer(verb, address, **settings)

    def _answer(self, verb: str, address: str, **settings: Any) -> requests.Response:
        import requests

        call = f"{verb} {address.removeprefix(self._api).partition('?')[0] or 'the repository'}"
        try:
            answer = self._session.request(verb, address, timeout=_TIMEOUT, **settings)
        except requests.RequestException as error:
            raise _unreachable(call, error) from None
        wait = _asked_to_wait(answer)
        if wait is not None:
            answer.close()
            if wait > _LONGEST_WAIT:
                raise InfrastructureError(f"GitHub's rate limit holds for another {wait:.0f} s", remedy="publish later")
            self._sleep(wait)
            raise InfrastructureError("GitHub's rate limit was reached", remedy="publish again: what was sent is kept")
        if answer.status_code >= 400:
            raise Refusal(call, answer.status_code, _words(answer, self._token))
        return answer


def _unreachable(call: str, error: Exception) -> InfrastructureError:
    """By the kind of error alone: its text may hold a signed address."""
    return InfrastructureError(f"GitHub cannot be reached for {call}: {type(error).__name__}", remedy="publish again")


def _asked_to_wait(answer: requests.Response) -> float | None:
    """Seconds that a rate limit asks for (GitHub REST documentation, "Rate limits"); ``None`` for any other answer."""
    if answer.status_code not in {403, 429}:
        return None
    after, reset = answer.headers.get("Retry-After", ""), answer.headers.get("X-RateLimit-Reset", "")
    if after.isdecimal():
        return float(after)
    if answer.headers.get("X-RateLimit-Remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - time.time())
    return None


def _words(answer: requests.Response, token: str) -> str:
    """GitHub's own, on one line; none where they repeat the token."""
    try:
        told = answer.json()
        errors = [str(row.get("code")) for row in told.get("errors", []) if isinstance(row, dict)]
        words = ", ".join([str(told["message"]), *errors])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "no reason given"
    return "no reason that can be repeated" if token in words else printable(words[:_WORDS])


def _release(row: Any) -> Release:
    try:
        return Release(
            id=int(row["id"]),
            tag=str(row["tag_name"]),
            draft=row["draft"] is True,
            body=str(row["body"] or ""),
            upload_url=str(row["upload_url"]),
            html_url=str(row["html_url"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InfrastructureError("GitHub answers something other than a release") from None


def _object(row: Any) -> tuple[str, str]:
    try:
        return str(row["object"]["type"]), str(row["object"]["sha"])
    except (KeyError, TypeError):
        raise InfrastructureError("GitHub answers something other than a tag") from None


def _asset(row: Any) -> Asset:
    try:
        return Asset(int(row["id"]), str(row["name"]), int(row["size"]), row["state"] == "uploaded")
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InfrastructureError("GitHub answers something other than an asset") from None


def refused(refusal: Refusal) -> InfrastructureError | UsageError:
    """What a no means for whoever publishes."""
    if refusal.status in {401, 403}:
        remedy = "the token is expired or lacks the permission contents: write"
        return UsageError(str(refusal), remedy=remedy)
    if refusal.status == 404:
        return UsageError(str(refusal), remedy="check the repository's name, and that the token may see it")
    return InfrastructureError(str(refusal), remedy="publish again: what was sent is kept")
