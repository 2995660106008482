"""NVIDIA's own libraries: known by name, because they dispatch between architectures themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.formats.facts import ElfFacts

_STEMS = (
    "cublas", "cublasLt", "cublasMp", "cudadevrt", "cudart", "cudnn", "cudss", "cufft", "cufftMp", "cufftw", "cufile",
    "cupti", "curand", "cusolver", "cusolverMg", "cusolverMp", "cusparse", "cusparseLt", "cutensor", "cutensorMg",
    "cudla", "nccl", "nppc", "nppial", "nppicc", "nppidei", "nppif", "nppig", "nppim", "nppist", "nppisu", "nppitc",
    "npps", "nvblas", "nvcomp", "nvcuvid", "nvfatbin", "nvinfer", "nvjpeg", "nvJitLink", "nvml_static", "nvptxcompiler",
    "nvrtc", "nvshmem", "culibos",
)  # fmt: skip
_NAME = re.compile(
    rf"lib(?:{'|'.join(_STEMS)})(?:_[A-Za-z0-9_]+|-builtins)?(?:\.alt)?(?:-[0-9a-f]{{8}})?(?:\.so(?:\.[0-9.]+)?|\.a)",
    re.ASCII,
)


def is_toolkit_library(file_name: str) -> bool:
    """Whether a file name is that of a library NVIDIA ships (``libcublasLt.so.12``, ``libcudnn_ops.so.9``)."""
    return _NAME.fullmatch(file_name.rpartition("/")[2]) is not None


def nothing_but_toolkit_libraries(elves: Iterable[ElfFacts]) -> bool:
    """Whether every host file is NVIDIA's, objects of a static library too: an artifact without a product in it."""
    return all(any(is_toolkit_library(part) for part in elf.path.parts) for elf in elves)
