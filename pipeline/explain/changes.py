"""What to change, build system by build system, for the rules that are about how device code was built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One rule's remedy in the words of one build system."""

    rule: str
    tool: str
    text: str


_ARCH = (
    (
        "ggml",
        "-DCMAKE_CUDA_ARCHITECTURES='70-real;80-real;90-real' (never the default list: it moves with the toolkit)",
    ),
    ("CMake", "set(CMAKE_CUDA_ARCHITECTURES 70-real 80-real 90-real 90-virtual), for every target of the library"),
    ("nvcc", "-gencode arch=compute_70,code=sm_70 -gencode arch=compute_80,code=sm_80, on every file"),
    ("torch", "TORCH_CUDA_ARCH_LIST='7.0;8.0;9.0+PTX'; look for per-file lists in setup.py or CMakeLists.txt"),
)
_SUFFIX = (
    ("ggml", "list 120 as well as what ggml rewrites to 120a, or 120f-real (toolkit 12.9 on)"),
    ("CMake", "add the sibling: 100a-real;103a-real, or the family 100f-real (toolkit 12.9, CMake 4 on)"),
    ("nvcc", "-gencode arch=compute_100f,code=sm_100f, or one -gencode for each a target"),
    ("torch", "TORCH_CUDA_ARCH_LIST='10.0a;10.3a' or '10.0f'"),
)
_CODEC = (
    ("ggml", "-DGGML_CUDA_COMPRESSION_MODE=speed (ggml's default is size from toolkit 12.8 on)"),
    ("CMake", "target_compile_options(… $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=speed>)"),
    ("nvcc", "--compress-mode=speed (LZ4) or none; not balance or size, and with 13.x not default"),
    ("torch", "extra_compile_args={'nvcc': ['--compress-mode=speed']}"),
)
_PTX = (
    ("ggml", "name a -real architecture for every promised GPU; use -virtual only for GPUs that do not exist yet"),
    ("CMake", "90-real instead of 90-virtual, or build with the toolkit of the oldest promised driver"),
    ("nvcc", "code=sm_90 instead of code=compute_90"),
    ("torch", "9.0 instead of 8.0+PTX; check each file's own list"),
)
_MAJOR = (
    ("ggml", "build one asset with toolkit 12.x and one with 13.x, and choose by the user's driver"),
    ("CMake", "point CUDAToolkit_ROOT to a toolkit of the driver's major"),
    ("nvcc", "use nvcc of the driver's CUDA major; a newer minor of it is fine for cubins"),
    ("torch", "install the cu12x build instead of cu13x, or update the driver to 580"),
)
CHANGES: tuple[Change, ...] = tuple(
    Change(rule, tool, text)
    for rules, rows in (
        (("arch-missing", "declared-archs", "arch-lost"), _ARCH),
        (("arch-suffix",), _SUFFIX),
        (("fatbin-codec", "codec-changed"), _CODEC),
        (("ptx-isa",), _PTX),
        (("toolkit-major", "cubin-abi"), _MAJOR),
    )
    for rule in rules
    for tool, text in rows
)
