"""Which Python distributions bring which shared libraries: what a wheel may leave to its requirements."""

from __future__ import annotations

import re

# Library stem (a prefix of the file name) → distributions, normalized, without the -cu12 suffix: the one that has it,
# then those whose own metadata requires that one.
_BRINGS = (
    ("libcudart", ("nvidia-cuda-runtime",)),
    ("libcublas", ("nvidia-cublas", "nvidia-cusolver", "nvidia-cudnn")),
    ("libnvblas", ("nvidia-cublas",)),
    ("libcudnn", ("nvidia-cudnn",)),
    ("libcufft", ("nvidia-cufft",)),
    ("libcufile", ("nvidia-cufile",)),
    ("libcurand", ("nvidia-curand",)),
    ("libcusolver", ("nvidia-cusolver",)),
    ("libcusparseLt", ("nvidia-cusparselt",)),
    ("libcusparse", ("nvidia-cusparse", "nvidia-cusolver")),
    ("libcupti", ("nvidia-cuda-cupti",)),
    ("libnvrtc", ("nvidia-cuda-nvrtc",)),
    ("libnvJitLink", ("nvidia-nvjitlink", "nvidia-cufft", "nvidia-cusolver", "nvidia-cusparse")),
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
_TOOLKIT = "cuda-toolkit"
"""The distribution that requires the toolkit's parts as its extras name them; what is released apart it has not."""
_RELEASED_APART = ("nvidia-cudnn", "nvidia-cusparselt", "nvidia-nccl", "nvidia-nvshmem")
OF_AN_EXTRA = "[extra]"
"""Ends the name of a distribution that comes only with an extra, which users must ask for."""
_MAJOR = re.compile(r"-cu(1[0-9])$", re.ASCII)
_SONAME = re.compile(r"lib(?:cudart|cublas|cublasLt|nvblas|nvJitLink|cupti)\.so\.(1[0-9])", re.ASCII)


def brings(requirements: tuple[str, ...], library: str) -> bool:
    """Whether one of the required distributions carries ``library``, in its CUDA major where the SONAME tells it."""
    if any(_is_named_for(requirement, library) for requirement in requirements):
        return True
    stems = [names for stem, names in _BRINGS if library.startswith(stem)]
    if not stems:
        return False
    wanted = _SONAME.fullmatch(library)
    for requirement in requirements:
        name = _MAJOR.sub("", requirement)
        major = _MAJOR.search(requirement)
        fits = wanted is None or major is None or wanted[1] == major[1]
        toolkit = requirement == _TOOLKIT and stems[0][0] not in _RELEASED_APART
        along = (requirement in _ROOTS or toolkit) and stems[0][0].startswith("nvidia-")
        if (name in stems[0] and fits) or along:
            return True
    return False


def may_bring(requirements: tuple[str, ...], library: str) -> bool:
    """Whether one of those does that come only with an extra."""
    return brings(tuple(name.removesuffix(OF_AN_EXTRA) for name in requirements if name.endswith(OF_AN_EXTRA)), library)


def _is_named_for(requirement: str, library: str) -> bool:
    """Whether a library has the name of a distribution, as ``librmm.so`` of ``librmm-cu12``."""
    stem = re.sub(r"[-_.]+", "-", library.partition(".so")[0]).lower()
    return _MAJOR.sub("", requirement) in {stem, stem.removeprefix("lib")}
