"""A stand-in for GitHub's releases API, as far as a release needs it, that can be told to misbehave.

What it answers is held against the models that githubkit-schemas generates from GitHub's OpenAPI description
(``test_github_server.py``). State is in memory; ``public`` is what a stranger would see at any moment.
"""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN = "ghs_MARKERTOKEN0123456789"
SIGNED = "X-Amz-Signature=MARKERSIGNATURE"
TIME = "2026-01-01T00:00:00Z"


@dataclass
class StoredAsset:
    id: int
    name: str
    content: bytes
    state: str = "uploaded"


@dataclass
class StoredRelease:
    id: int
    tag: str
    body: str
    draft: bool = True
    assets: list[StoredAsset] = field(default_factory=list)


Mischief = "Callable[[int, Exchange], bool]"


class Exchange(BaseHTTPRequestHandler):
    """One request. ``hub.mischief(number, self)`` may answer in our place and return true."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and content in one packet: a delayed acknowledgement costs 40 ms
    hub: Hub

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        hub = self.hub
        with hub.lock:
            hub.requests += 1
            number = hub.requests
            hub.calls.append(f"{self.command} {urlparse(self.path).path}")
        self.content: bytes | None = None
        if hub.mischief is not None and hub.mischief(number, self):
            return
        if urlparse(self.path).path.startswith("/signed/"):
            self._download()
        elif not hub.private and self.path.startswith(f"/{hub.repository}/releases/download/"):
            self._give_to_anybody(self.path.removeprefix(f"/{hub.repository}/releases/download/"))
        elif not self.path.startswith("/repos/"):
            self._missing()  # the web pages and downloads of a private repository, to a stranger
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"message": "Bad credentials"})
        else:
            with hub.lock:
                self.route()

    def body(self) -> bytes:
        """The request's content, read once."""
        if self.content is None:
            self.content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return self.content

    def route(self) -> None:
        """Answer as GitHub does."""
        address = urlparse(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        parts = address.path.removeprefix(f"/repos/{self.hub.repository}").strip("/").split("/")
        if parts[:2] == ["releases", "assets"]:
            self._redirect(parts[2]) if self.command == "GET" else self._delete(parts[2])
        elif parts[0] == "git":
            self._git(parts[1:])
        else:
            self._releases(parts, query)

    def _releases(self, parts: list[str], query: dict[str, str]) -> None:
        hub = self.hub
        match self.command, parts:
            case "GET", [""]:
                self.answer(200, hub.repository_row())
            case "GET", ["releases"]:
                self.answer(200, _page([hub.release_row(each) for each in reversed(hub.releases)], query))
            case "POST", ["releases"]:
                asked = json.loads(self.body())
                hub.releases.append(StoredRelease(hub.next_id(), asked["tag_name"], asked["body"], asked["draft"]))
                self.answer(201, hub.release_row(hub.releases[-1]))
            case "GET", ["releases", "tags" | "latest", *tag]:
                found = hub.shown("/".join(tag))
                self.answer(200, hub.release_row(found[-1])) if found else self._missing()
            case "GET", ["releases", number]:
                self.answer(200, hub.release_row(hub.release(number)))
            case "PATCH", ["releases", number]:
                self._change(hub.release(number))
            case "GET", ["releases", number, "assets"]:
                release = hub.release(number)
                self.answer(200, _page([hub.asset_row(each, release.tag) for each in release.assets], query))
            case "POST", ["releases", number, "assets"]:
                self._upload(hub.release(number), query["name"])
            case _:
                self._missing()

    def _git(self, what: list[str]) -> None:
        hub = self.hub
        match what:
            case ["ref", "tags", *tag] if unquote("/".join(tag)) in hub.tags:
                self.answer(200, hub.ref_row(unquote("/".join(tag))))
            case ["tags", sha] if sha in hub.annotated:
                self.answer(200, hub.tag_row(sha))
            case _:
                self._missing()

    def _change(self, release: StoredRelease) -> None:
        asked = json.loads(self.body())
        if release.tag in self.hub.burned:
            errors = [{"resource": "Release", "code": "custom", "field": "tag_name"}]
            self.answer(422, {"message": "tag_name was used by an immutable release", "errors": errors})
            return
        release.draft = asked.get("draft", release.draft)
        release.body = asked.get("body", release.body)
        self.answer(200, self.hub.release_row(release))

    def _upload(self, release: StoredRelease, name: str) -> None:
        content = self.body()
        if any(asset.name == name for asset in release.assets):
            errors = [{"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}]
            self.answer(422, {"message": "Validation Failed", "errors": errors})
            return
        release.assets.append(StoredAsset(self.hub.next_id(), name, content))
        self.answer(201, self.hub.asset_row(release.assets[-1], release.tag))

    def _redirect(self, number: str) -> None:
        self.body()
        self.send_response(302)
        self.send_header("Location", f"http://127.0.0.1:{self.hub.port}/signed/{number}?{SIGNED}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _download(self) -> None:
        asset = self.hub.asset(urlparse(self.path).path.rpartition("/")[2])
        self.send_response(200)
        self.send_header("Content-Length", str(len(asset.content)))
        self.end_headers()
        self.wfile.write(asset.content)

    def _give_to_anybody(self, path: str) -> None:
        """What a browser downloads, without a token: files of public releases, and of a draft nothing."""
        tag, _, name = path.partition("/")
        with self.hub.lock:
            public = [each for each in self.hub.releases if not each.draft and quote(each.tag, safe="") == tag]
            found = [asset for each in public for asset in each.assets if asset.name == name]
        if not found:
            self._missing()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(found[0].content)))
        self.end_headers()
        self.wfile.write(found[0].content)

    def _delete(self, number: str) -> None:
        for release in self.hub.releases:
            release.assets = [asset for asset in release.assets if str(asset.id) != number]
        self.send_response(204)
        self.end_headers()

    def _missing(self) -> None:
        self.answer(404, {"message": "Not Found"})

    def answer(self, status: int, content: Any, **headers: str) -> None:
        """Send JSON."""
        self.body()
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text)

    def cut(self) -> None:
        """Close the connection without a word."""
        self.close_connection = True
        self.connection.close()


@dataclass
class Hub:
    """The repository behind the server.

    ``tags`` are its git tags by name, ``annotated`` the tag objects among what they point at: what kind of object each
    is of, and which. ``burned`` tags had an immutable release that was deleted: no other release may have them.
    """

    repository: str = "acme/server"
    private: bool = False
    releases: list[StoredRelease] = field(default_factory=list)
    push: bool = True
    tags: dict[str, str] = field(default_factory=dict)
    annotated: dict[str, tuple[str, str]] = field(default_factory=dict)
    burned: set[str] = field(default_factory=set)
    mischief: Callable[[int, Exchange], bool] | None = None
    requests: int = 0
    calls: list[str] = field(default_factory=list)
    port: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    last_id: int = 100

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def public(self) -> dict[str, dict[str, str]]:
        """What a stranger sees: tag → file → SHA-256."""
        return {
            release.tag: {asset.name: hashlib.sha256(asset.content).hexdigest() for asset in release.assets}
            for release in self.releases
            if not release.draft
        }

    def shown(self, tag: str) -> list[StoredRelease]:
        """What is public under a tag as it stands in an address; all that is public without one."""
        public = [each for each in self.releases if not each.draft]
        return [each for each in public if not tag or quote(each.tag, safe="") == tag]

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def release(self, number: str) -> StoredRelease:
        return next(each for each in self.releases if str(each.id) == number)

    def asset(self, number: str) -> StoredAsset:
        return next(asset for release in self.releases for asset in release.assets if str(asset.id) == number)

    def repository_row(self) -> dict[str, Any]:
        """Only what is asked for: GitHub's has a hundred fields."""
        return {"full_name": self.repository, "permissions": {"admin": False, "push": self.push, "pull": True}}

    def release_row(self, release: StoredRelease) -> dict[str, Any]:
        here = f"{self.api}/repos/{self.repository}/releases/{release.id}"
        return {
            "url": here,
            "html_url": f"{self.api}/{self.repository}/releases/tag/{release.tag}",
            "assets_url": f"{here}/assets",
            "upload_url": f"{here}/assets{{?name,label}}",
            "tarball_url": None,
            "zipball_url": None,
            "id": release.id,
            "node_id": f"R_{release.id}",
            "tag_name": release.tag,
            "target_commitish": "main",
            "name": release.tag,
            "body": release.body,
            "draft": release.draft,
            "prerelease": False,
            "created_at": TIME,
            "published_at": None if release.draft else TIME,
            "author": USER,
            "assets": [self.asset_row(asset, release.tag) for asset in release.assets],
        }

    def ref_row(self, tag: str) -> dict[str, Any]:
        here, sha = f"{self.api}/repos/{self.repository}/git", self.tags[tag]
        kind = "tag" if sha in self.annotated else "commit"
        pointed = {"type": kind, "sha": sha, "url": f"{here}/{kind}s/{sha}"}
        ref = f"refs/tags/{tag}"
        return {"ref": ref, "node_id": "REF_1", "url": f"{here}/{quote(ref)}", "object": pointed}

    def tag_row(self, sha: str) -> dict[str, Any]:
        here, (kind, pointed) = f"{self.api}/repos/{self.repository}/git", self.annotated[sha]
        return {
            "node_id": "TAG_1",
            "tag": "v1",
            "sha": sha,
            "url": f"{here}/tags/{sha}",
            "message": "a release",
            "tagger": {"date": TIME, "email": "bot@example.org", "name": "bot"},
            "object": {"type": kind, "sha": pointed, "url": f"{here}/{kind}s/{pointed}"},
        }

    def asset_row(self, asset: StoredAsset, tag: str) -> dict[str, Any]:
        public = f"{self.api}/{self.repository}/releases/download/{quote(tag, safe='')}"
        return {
            "url": f"{self.api}/repos/{self.repository}/releases/assets/{asset.id}",
            "browser_download_url": f"{public}/{asset.name}",
            "id": asset.id,
            "node_id": f"RA_{asset.id}",
            "name": asset.name,
            "label": "",
            "state": asset.state,
            "content_type": "application/octet-stream",
            "size": len(asset.content),
            "digest": f"sha256:{hashlib.sha256(asset.content).hexdigest()}",
            "download_count": 0,
            "created_at": TIME,
            "updated_at": TIME,
            "uploader": USER,
        }


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve ``hub`` on loopback while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Exchange,), {"hub": hub}))
    server.daemon_threads = True
    hub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def _page(rows: list[dict[str, Any]], query: dict[str, str]) -> list[dict[str, Any]]:
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    return rows[(page - 1) * size : page * size]


_PLACES = ("followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events")
USER: dict[str, Any] = {
    **{f"{place}_url": f"http://127.0.0.1/users/bot/{place}" for place in (*_PLACES, "received_events")},
    "url": "http://127.0.0.1/users/bot",
    "html_url": "http://127.0.0.1/bot",
    "login": "bot",
    "id": 1,
    "node_id": "U_1",
    "avatar_url": "http://127.0.0.1/bot.png",
    "gravatar_id": "",
    "type": "Bot",
    "site_admin": False,
}
