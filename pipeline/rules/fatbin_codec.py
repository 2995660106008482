"""Device code packed with a codec that the driver cannot unpack.

What: the entry the driver would take is Zstandard-compressed, and the driver is older than 550.54.14. The header says
so without unpacking anything: flag 0x8000 is Zstandard, 0x2000 an LZ4 block, which every listed driver reads.

Why: nvcc packs everything with Zstandard under --compress-mode=size, and PTX under balance; toolkit 13.x packs PTX
so by default. ggml asks for size from toolkit 12.8 on. Users see "device kernel image is invalid" at the first kernel.

Remedy: build with --compress-mode=speed (ggml: -DGGML_CUDA_COMPRESSION_MODE=speed; nvcc: --compress-mode=speed; torch
extensions: the same in extra_cuda_cflags), or raise the driver floor to 550.54.14. The toolkit may stay.

Source: nvcc manual, --compress-mode ("not compatible with drivers released before CUDA Toolkit's 12.4 Release");
measured: libcuda 550.163.01 has a Zstandard decoder, 535.261.03 and older have none; ollama issue 12258.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.policy.unknown import UnknownCodec
from pipeline.rules.device import Told, examine_device
from pipeline.rules.obstacle import Certainty, Obstacle

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.subject import Aim, Examination, Subject
    from pipeline.rules.unit import Image

RULE = "fatbin-codec"
_ERROR = "CUDA_ERROR_INVALID_IMAGE"
_NAMES = {"zstd": "Zstandard", "lz4": "LZ4"}


def obstacle(image: Image, driver: DriverVersion, policy: Policy) -> Obstacle | None:
    """Whether ``driver`` cannot unpack ``image``."""
    try:
        floor = policy.codec_floor(image.codec)
    except UnknownCodec:
        return Obstacle(RULE, _ERROR, f"{image.what} is packed by an unknown codec", None, Certainty.DOUBT)
    if floor is None or driver >= floor:
        return None
    name = _NAMES.get(image.codec.value, image.codec.value)
    return Obstacle(RULE, _ERROR, f"{name}-compressed {image.what} needs driver >= {floor}", floor)


def check(subject: Subject) -> Examination:
    """Every unit whose chosen image cannot be unpacked."""
    return examine_device(subject, RULE, _told, examined=subject.entries)


def _told(aim: Aim, met: Obstacle) -> Told:
    raised = f", or raise the floor to {met.floor}" if met.floor else ""
    speed = "build with --compress-mode=speed (ggml: -DGGML_CUDA_COMPRESSION_MODE=speed)"
    return Told(f"driver >= {aim.target.driver}", speed + raised)
