"""What BuildKit says while it works: ``moby.buildkit.v1.StatusResponse``, decoded from its protobuf wire format.

Only the fields that a log needs are read; unknown ones are skipped, as protobuf wants it. Source:
https://github.com/moby/buildkit/blob/master/api/services/control/control.proto
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_VERTEXES, _LOGS = 1, 3
_VERTEX_DIGEST, _VERTEX_NAME, _VERTEX_CACHED, _VERTEX_STARTED, _VERTEX_COMPLETED, _VERTEX_ERROR = 1, 3, 4, 5, 6, 7
_LOG_VERTEX, _LOG_TEXT = 1, 4


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a build as of now; ``error`` is empty unless it failed."""

    digest: str
    name: str
    cached: bool
    started: bool
    completed: bool
    error: str


@dataclass(frozen=True, slots=True)
class StepOutput:
    """A piece of what a step printed; not necessarily whole lines, nor whole characters."""

    digest: str
    text: bytes


def decode_status(message: bytes) -> tuple[tuple[Step, ...], tuple[StepOutput, ...]]:
    """Read one status message; ``ValueError`` when it is not one."""
    steps: list[Step] = []
    outputs: list[StepOutput] = []
    for number, value in _fields(message):
        if isinstance(value, int):
            continue
        if number == _VERTEXES:
            steps.append(_step(value))
        elif number == _LOGS:
            outputs.append(_output(value))
    return tuple(steps), tuple(outputs)


def _step(message: bytes) -> Step:
    found = dict(_fields(message))
    return Step(
        digest=_text(found.get(_VERTEX_DIGEST, b"")),
        name=_text(found.get(_VERTEX_NAME, b"")),
        cached=bool(found.get(_VERTEX_CACHED, 0)),
        started=_VERTEX_STARTED in found,
        completed=_VERTEX_COMPLETED in found,
        error=_text(found.get(_VERTEX_ERROR, b"")),
    )


def _output(message: bytes) -> StepOutput:
    found = dict(_fields(message))
    text = found.get(_LOG_TEXT, b"")
    return StepOutput(_text(found.get(_LOG_VERTEX, b"")), text if isinstance(text, bytes) else b"")


def _text(value: bytes | int) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Every field of a protobuf message as (number, value)."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind, -1)
        if size < 0 or at + size > len(message):
            raise ValueError(f"not a protobuf message: wire type {kind}, {size} bytes at {at} of {len(message)}")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("not a protobuf message: a number does not end")
