from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats import fatbin
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.device import Container, read_run
from pipeline.formats.payload import unpack
from tests.toolchain import cubin, cubin_image, nvfatbin

if TYPE_CHECKING:
    from pipeline.formats.facts import EntryFacts
    from pipeline.formats.fatbin import ContainerReader

pytestmark = pytest.mark.network


def entries_of(content: bytes, reader: ContainerReader) -> tuple[EntryFacts, ...]:
    (found,) = read_run(BufferView(content), "", (0, len(content)), reader)
    assert isinstance(found, Container)
    return found.entries


@pytest.mark.parametrize(("mode", "everything"), [("none", False), ("size", False), ("speed", True)])
def test_payloads_unpack_to_the_image_that_was_packed(mode: str, everything: bool, glance: ContainerReader) -> None:
    content = nvfatbin("13.0", [cubin_image("13.0", "scale", "80")], mode=mode, everything=everything)
    (entry,) = entries_of(content, glance)
    assert unpack(BufferView(content), entry, STANDARD)[: len(cubin("13.0", "scale", "80"))] == cubin(
        "13.0", "scale", "80"
    )


@pytest.mark.parametrize(("mode", "everything"), [("none", False), ("size", False), ("speed", True)])
def test_a_deep_run_sees_damaged_payloads(mode: str, everything: bool, examination: ContainerReader) -> None:
    content = bytearray(nvfatbin("13.0", [cubin_image("13.0", "scale", "80")], mode=mode, everything=everything))
    start = fatbin.CONTAINER_HEADER + entries_of(bytes(content), examination)[0].header_size
    content[start : start + 40] = b"\xff" * 40
    (entry,) = entries_of(bytes(content), examination)
    assert entry.payload_error is not None


def test_a_run_that_is_not_deep_does_not_unpack(glance: ContainerReader) -> None:
    content = bytearray(nvfatbin("13.0", [cubin_image("13.0", "scale", "80")], mode="size"))
    reader = fatbin.ContainerReader(glance.names, glance.inspect, glance.budgets)
    start = fatbin.CONTAINER_HEADER + 64
    content[start + 40 : start + 80] = b"\xff" * 40
    large = Budgets(examined=16)
    from pipeline.formats.payload import Glance

    (entry,) = entries_of(bytes(content), fatbin.ContainerReader(reader.names, Glance(large), large))
    assert entry.payload_error is None


def test_a_payload_above_the_limit_is_refused(glance: ContainerReader) -> None:
    content = nvfatbin("13.0", [cubin_image("13.0", "scale", "80")], mode="size")
    (entry,) = entries_of(content, glance)
    with pytest.raises(FormatError, match="larger than the limit"):
        unpack(BufferView(content), entry, Budgets(payload=100))
