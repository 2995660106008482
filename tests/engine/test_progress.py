"""BuildKit's progress messages, read from bytes that an engine really sent."""

from __future__ import annotations

import base64

import pytest

from pipeline.engine.progress import Step, StepOutput, decode_status

DIGEST = "sha256:ce7a49d249e4b29d6577ecf3468325f8ea6cbcbeeec1fdcea1fe82ba899ce357"
# Docker 20.10.24, a `RUN ls -la /run; exit 7`: the message with the failure, then one with output.
FAILED = base64.b64decode(
    "Cp0CCkdzaGEyNTY6Y2U3YTQ5ZDI0OWU0YjI5ZDY1NzdlY2YzNDY4MzI1ZjhlYTZjYmNiZWVlYzFmZGNlYTFmZTgyYmE4OTljZTM1NxJHc2hhMjU2"
    "Ojc5YmIzMTZkZTEwZTVjOWYwYzc1NWIyNDQyN2M4NzYzMzg3YzI1ZGNkZTE4NmVkMWM5ZDkwMTdkN2ZiNzA0MGMaJVtjb21waWxlIDMvM10gUlVO"
    "IGxzIC1sYSAvcnVuOyBleGl0IDcqDAiOt7fYBhDalNvPATIMCI63t9gGENPj+NYCOkZleGVjdXRvciBmYWlsZWQgcnVubmluZyBbL2Jpbi9zaCAt"
    "YyBscyAtbGEgL3J1bjsgZXhpdCA3XTogZXhpdCBjb2RlOiA3"
)
PRINTED = bytes((0x1A, 9)) + b"\x0a\x01x\x22\x04two\n"


def test_a_failed_step() -> None:
    (step,), outputs = decode_status(FAILED)
    assert step == Step(
        digest=DIGEST,
        name="[compile 3/3] RUN ls -la /run; exit 7",
        cached=False,
        started=True,
        completed=True,
        error="executor failed running [/bin/sh -c ls -la /run; exit 7]: exit code: 7",
    )
    assert outputs == ()


def test_output_of_a_step() -> None:
    assert decode_status(PRINTED) == ((), (StepOutput("x", b"two\n"),))


def test_fields_of_later_engines_are_skipped() -> None:
    later = b"\x78\x01" + b"\x7d" + bytes(4) + b"\x79" + bytes(8)
    assert decode_status(PRINTED + later) == ((), (StepOutput("x", b"two\n"),))


@pytest.mark.parametrize("size", range(1, len(PRINTED)))
def test_a_truncated_message_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="not a protobuf message"):
        decode_status(PRINTED[:size])


def test_an_unknown_wire_type_is_refused() -> None:
    with pytest.raises(ValueError, match="wire type 3"):
        decode_status(b"\x0b")


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end"):
        decode_status(b"\xff" * 11)
