"""A web server of this machine: files by path, and a package registry's simple index over them."""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Site:
    """What is served; ``asked`` collects the paths of requests. ``cut`` bytes are missing from every file's end."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cut: int = 0

    def add_project(self, name: str, files: dict[str, bytes], *, digests: dict[str, str] | None = None) -> None:
        """A project of the registry at ``/simple/``; ``digests`` replaces what the index truly would say."""
        links: list[str] = []
        for filename, content in files.items():
            digest = (digests or {}).get(filename, hashlib.sha256(content).hexdigest())
            self.files[f"/files/{filename}"] = content
            links.append(f'<a href="/files/{filename}#sha256={digest}">{filename}</a>')
        self.files[f"/simple/{name}/"] = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: Site


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site = cast("_Server", self.server).site
        site.asked.append(self.path)
        content = site.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if content.startswith(b"<!") else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) - site.cut])

    def log_message(self, *_: object) -> None:
        """Tests need no access log."""


@contextmanager
def serving() -> Iterator[Site]:
    """A site on a free loopback port."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.site = Site(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.site
        finally:
            server.shutdown()
            thread.join()
