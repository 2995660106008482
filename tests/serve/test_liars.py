"""Servers that lie in their headers, never end, or name a model that is only nearly theirs."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pipeline.serve.answer import Question
from pipeline.serve.completion import ask
from pipeline.serve.http import Questions
from pipeline.serve.outcome import CheckFailed, Fault
from pipeline.serve.readiness import serves_model
from tests.serve.test_completion import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BODY = json.dumps(GOOD).encode()


class Alive:
    """A server that lives as long as anybody asks."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def exit_status(self) -> int | None:
        return None

    def processes(self) -> tuple[int, ...]:
        return ()

    def log_tail(self, lines: int = 40) -> str:
        return "\n" * lines

    def stop(self, timeout: float) -> tuple[str, ...]:
        raise AssertionError(timeout)


@contextmanager
def served(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Every connection gets one request read and ``answer``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(peer,), daemon=True).start()

        def one(peer: socket.socket) -> None:
            with peer:
                try:
                    peer.recv(1 << 16)
                    answer(peer)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def http(body: bytes = BODY, *headers: str, status: int = 200) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def fault_of(answer: Callable[[socket.socket], object]) -> Fault:
    with served(answer) as url, pytest.raises(CheckFailed) as failure:
        ask(Alive(url), Question("?"), 5.0)
    return failure.value.fault


@pytest.mark.parametrize("charset", ["rot13", "hex", "undefined", "utf-16", "idna"])
def test_a_charset_that_is_none_changes_nothing(charset: str) -> None:
    kind = f"Content-Type: application/json; charset={charset}"
    with served(lambda peer: peer.sendall(http(BODY, kind))) as url:
        assert ask(Alive(url), Question("?"), 5.0).completion.content == "ok"
    assert fault_of(lambda peer: peer.sendall(http(BODY, kind, status=500))) is Fault.ANSWERS_ERROR


def test_a_redirect_is_not_followed() -> None:
    with served(lambda peer: peer.sendall(http())) as honest:
        away = http(b"", f"Location: {honest}/v1/chat/completions", status=307)
        assert fault_of(lambda peer: peer.sendall(away)) is Fault.ANSWERS_ERROR


def test_what_is_packed_stays_packed() -> None:
    packed = http(gzip.compress(BODY), "Content-Encoding: gzip")
    assert fault_of(lambda peer: peer.sendall(packed)) is Fault.ANSWERS_RUBBISH


@pytest.mark.parametrize(("status", "fault"), [(200, Fault.ANSWERS_RUBBISH), (500, Fault.ANSWERS_ERROR)])
def test_a_body_without_end_is_not_read_to_its_end(status: int, fault: Fault) -> None:
    def flood(peer: socket.socket) -> None:
        peer.sendall(f"HTTP/1.1 {status} X\r\nConnection: close\r\n\r\n".encode())
        while True:
            peer.sendall(bytes(1 << 20))

    began = time.monotonic()
    assert fault_of(flood) is fault
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("start", ["HTTP/1.1 200 OK\r\nX: ", ""], ids=["header", "continue"])
def test_a_header_without_end_does_not_hold_the_wait(start: str) -> None:
    def drip(peer: socket.socket) -> None:
        peer.sendall(start.encode())
        while True:
            peer.sendall(b"a" if start else b"HTTP/1.1 100 Continue\r\n\r\n")
            time.sleep(0.1)

    with served(drip) as url, Questions(url) as questions:
        began = time.monotonic()
        assert questions.get("/health") is None
        assert time.monotonic() - began < 4


@pytest.mark.parametrize("name", ["tiny", "tiny.gguf", "/models/tiny.gguf"])
def test_the_model_may_be_named_with_its_path_and_suffix(name: str) -> None:
    with served(lambda peer: peer.sendall(http(json.dumps({"data": [{"id": name}]}).encode()))) as url:
        assert serves_model(Questions(url), "tiny")


@pytest.mark.parametrize("name", ["tiny-but-other", "my-tiny", "/tiny/other.gguf"])
def test_a_name_that_only_holds_the_models_is_another(name: str) -> None:
    with (
        served(lambda peer: peer.sendall(http(json.dumps({"data": [{"id": name}]}).encode()))) as url,
        pytest.raises(CheckFailed) as failure,
    ):
        serves_model(Questions(url), "tiny")
    assert failure.value.fault is Fault.WRONG_MODEL
