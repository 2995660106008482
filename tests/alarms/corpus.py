"""The packages whose alarms are counted, and what each alarm is judged to be, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tests.coverage.corpus import CORPUS as COVERAGE
from tests.released.audits import fetched
from tests.released.corpus import PACKAGES
from tests.toolchain import wheel

if TYPE_CHECKING:
    from pathlib import Path

NODE = "@node-llama-cpp/linux-x64-cuda==3.22.1"
CORPUS = (
    *COVERAGE,
    "bitsandbytes==0.50.2",
    "ctranslate2==4.8.5",
    "torch==2.14.1",
    "nvidia-cublas==13.10.0.20",
    "nvidia-curand==10.4.5.25",
    "nvidia-nccl-cu13==2.32.3",
    "nvidia-cuda-runtime==13.0.96",
    NODE,
)


def artifact(requirement: str) -> Path:
    """The package's file, downloaded once."""
    if requirement != NODE:
        return wheel(requirement)
    name, _, version = requirement.rpartition("==")
    return fetched(next(package for package in PACKAGES if (package.name, package.version) == (name, version)))


class Class(StrEnum):
    """What an alarm is: only the first is defended."""

    RIGHT = "right"
    CHOSEN = "chosen by the program"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is thought of the alarms of a rule about these libraries (shell patterns over file names), and why."""

    requirement: str
    library: str
    rule: str
    kind: Class
    text: str


PREFETCH = "the package names no distribution that brings it; it needs them installed beside it"
OLD_DRIVERS = "CUDA 13 needs R580; these targets are on R535 and R550"

JUDGEMENTS = (
    Judgement("*", "*", "toolkit-major", Class.RIGHT, OLD_DRIVERS),
    Judgement("*", "*", "cubin-abi", Class.RIGHT, "ABI 8 of CUDA 13, which R550 and older cannot read"),
    Judgement("*", "*", "fatbin-codec", Class.RIGHT, "Zstandard, which R535 cannot unpack"),
    Judgement("vllm==*", "_C.abi3.so", "ptx-isa", Class.WRONG, "one unit for nvcc's default architecture, which holds "
              "variables of libcu++ and no kernel: `--kernels` sees that and passes, headers do not show it"),
    Judgement("vllm==*", "_vllm_fa?_C*", "*", Class.CHOSEN, "FlashAttention 3 is for 9.x, 2 for 8.0 and newer; the "
              "program takes another backend elsewhere"),
    Judgement("vllm==*", "_flashmla*", "*", Class.CHOSEN, "multi-head latent attention for 9.0 and 10.0"),
    Judgement("vllm==*", "*", "arch-*", Class.CHOSEN, "quantized kernels (Marlin, CUTLASS), asked for after a check of "
              "the GPU"),
    Judgement("vllm-flash-attn==*", "*", "*", Class.RIGHT, "cubins for 8.0 and 9.0 and no PTX, nothing else in it"),
    Judgement("xformers==*", "_C.so", "arch-missing", Class.CHOSEN, "FlashAttention needs 8.0; the program takes "
              "another operator on 7.5"),
    Judgement("sgl-kernel==*", "*", "needed-library", Class.RIGHT, f"{PREFETCH}: torch, the CUDA toolkit, libnuma"),
    Judgement("sgl-kernel==*", "*", "libcuda-symbol", Class.RIGHT, "green contexts begin with R550; the dynamic linker "
              "refuses the library before"),
    Judgement("sgl-kernel==*", "flash_ops*", "arch-missing", Class.CHOSEN, "FlashAttention 3 is for 8.x and 9.x"),
    Judgement("sgl-kernel==*", "flashmla_ops*", "*", Class.CHOSEN, "multi-head latent attention for 9.0 and 10.0"),
    Judgement("sgl-kernel==*", "*", "arch-missing", Class.RIGHT, "built for 8.0 and newer"),
    Judgement("torchao==*", "*", "needed-library", Class.RIGHT, f"{PREFETCH}: torch"),
    Judgement("torchao==*", "*", "arch-*", Class.CHOSEN, "kernels for one architecture, named for it or asked for "
              "after a check of the GPU"),
    Judgement("onnxruntime-gpu==*", "*", "needed-library", Class.RIGHT, f"{PREFETCH}: cuBLAS"),
    Judgement("onnxruntime-gpu==*", "*", "arch-suffix", Class.RIGHT, "90a serves nothing newer: users "
              "met it (wheels.md)"),
    Judgement("lmdeploy==*", "*", "arch-missing", Class.RIGHT, "cubins up to sm_90a and no PTX"),
    Judgement("faiss-gpu-cu12==*", "*", "arch-missing", Class.RIGHT, "made for 7.0 to 8.9, without PTX; users met it"),
    Judgement("cupy-cuda12x==*", "*", "needed-library", Class.RIGHT, f"{PREFETCH}: cuTENSOR, NCCL"),
    Judgement("pycolmap-cuda12==*", "*", "needed-library", Class.RIGHT, "X11 libraries and parts of the CUDA toolkit "
              "that a host with nothing but a driver has not, and no distribution brings"),
    Judgement("nvidia-cusparselt-cu12==*", "*", "*", Class.RIGHT, "cuSPARSELt is for 8.0 and newer"),
    Judgement("nvidia-cudss-cu12==*", "*", "needed-library", Class.RIGHT, "libgomp is absent from minimal images, "
              "and nothing brings it"),
    Judgement("nvidia-curand==*", "*", "needed-library", Class.RIGHT, f"{PREFETCH}: the CUDA runtime"),
    Judgement("torch==2.14.*", "libtorch_cuda_linalg.so", "arch-missing", Class.RIGHT, "has no 7.5, which the rest of "
              "torch has; on R535 nothing of CUDA 13 loads in any case"),
    Judgement("@node-llama-cpp*", "*", "glibc-floor", Class.RIGHT, "built on a newer distribution than glibc 2.31"),
    Judgement("@node-llama-cpp*", "*", "needed-library", Class.RIGHT, "needs the CUDA toolkit, as its documentation "
              "says"),
    Judgement("@node-llama-cpp*", "*", "ptx-isa", Class.RIGHT, "PTX 9.1 on R580: seen to fail on an H200 (wheels.md)"),
)  # fmt: skip


def judged(requirement: str, found: dict[str, Any]) -> dict[str, Any]:
    """What was measured, each alarm with its judgement; empty where there is none."""
    rows = {way: [{**row, **_judgement(requirement, row)} for row in found[way]] for way in ("plain", "kernels")}
    return {**found, **rows}


def _judgement(requirement: str, row: dict[str, Any]) -> dict[str, str]:
    name = row["library"].rpartition("/")[2]
    for each in JUDGEMENTS:
        fits = fnmatchcase(requirement, each.requirement) and fnmatchcase(name, each.library)
        if fits and fnmatchcase(row["rule"], each.rule):
            return {"kind": each.kind.value, "why": each.text}
    return {"kind": "", "why": ""}
