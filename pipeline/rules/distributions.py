"""Which Python distributions bring which shared libraries: what a wheel may leave to its requirements."""

from __future__ import annotations

import re

# Library stem (a prefix of the file name) → distributions, normalized, without the -cu12 suffix.
_BRINGS = (
    ("libcudart", ("nvidia-cuda-runtime",)),
    ("libcublas", ("nvidia-cublas",)),
    ("libnvblas", ("nvidia-cublas",)),
    ("libcudnn", ("nvidia-cudnn",)),
    ("libcufft", ("nvidia-cufft",)),
    ("libcufile", ("nvidia-cufile",)),
    ("libcurand", ("nvidia-curand",)),
    ("libcusolver", ("nvidia-cusolver",)),
    ("libcusparseLt", ("nvidia-cusparselt",)),
    ("libcusparse", ("nvidia-cusparse",)),
    ("libcupti", ("nvidia-cuda-cupti",)),
    ("libnvrtc", ("nvidia-cuda-nvrtc",)),
    ("libnvJitLink", ("nvidia-nvjitlink",)),
    ("libnvToolsExt", ("nvidia-nvtx",)),
    ("libnccl", ("nvidia-nccl",)),
    ("libnvshmem", ("nvidia-nvshmem",)),
    ("libnvjpeg", ("nvidia-nvjpeg",)),
    ("libnpp", ("nvidia-npp",)),
    ("libgomp.so.1", ("torch",)),
    ("libtorch", ("torch",)),
    ("libc10", ("torch",)),
    ("libshm", ("torch",)),
    ("libtensorflow", ("tensorflow",)),
    ("libarrow", ("pyarrow",)),
)
_ROOTS = ("torch", "tensorflow", "jax-cuda12-plugin", "jax-cuda13-plugin")
"""Distributions that bring NVIDIA's libraries of their own CUDA major along."""
_MAJOR = re.compile(r"-cu(1[0-9])$", re.ASCII)
_SONAME = re.compile(r"lib(?:cudart|cublas|cublasLt|nvblas|nvJitLink|cupti)\.so\.(1[0-9])", re.ASCII)


def brings(requirements: tuple[str, ...], library: str) -> bool:
    """Whether one of the required distributions carries ``library``, in its CUDA major where the SONAME tells it."""
    stems = [names for stem, names in _BRINGS if library.startswith(stem)]
    if not stems:
        return False
    wanted = _SONAME.fullmatch(library)
    for requirement in requirements:
        name = _MAJOR.sub("", requirement)
        major = _MAJOR.search(requirement)
        fits = wanted is None or major is None or wanted[1] == major[1]
        if (name in stems[0] and fits) or (requirement in _ROOTS and stems[0][0].startswith("nvidia-")):
            return True
    return False
