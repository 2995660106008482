"""The artifacts whose coverage is measured, and what each partial coverage found there is judged to be, and why."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pipeline.rules.nvidia import is_toolkit_library

CORPUS = (
    "torch==2.8.0",
    "torchvision==0.23.0",
    "torchaudio==2.8.0",
    "vllm==0.11.0",
    "vllm-flash-attn==2.6.2",
    "sgl-kernel==0.3.21",
    "xformers==0.0.32.post2",
    "torchao==0.18.0",
    "bitsandbytes==0.48.1",
    "onnxruntime-gpu==1.23.0",
    "ctranslate2==4.6.0",
    "lmdeploy==0.9.2",
    "faiss-gpu-cu12==1.12.0",
    "xgboost==3.0.5",
    "catboost==1.2.10",
    "cupy-cuda12x==14.2.0",
    "jax-cuda12-plugin==0.10.2",
    "libraft-cu12==25.8.0",
    "spconv-cu120==2.3.6",
    "pycolmap-cuda12==4.2.1",
    "warp-lang==1.19.0",
    "nvidia-cublas-cu12==12.8.4.1",
    "nvidia-cudnn-cu12==9.10.2.21",
    "nvidia-cusparse-cu12==12.5.8.93",
    "nvidia-cufft-cu12==11.4.1.4",
    "nvidia-curand-cu12==10.3.10.19",
    "nvidia-cusolver-cu12==11.7.5.82",
    "nvidia-cusparselt-cu12==0.8.1",
    "nvidia-cudss-cu12==1.0.0.35",
    "nvidia-nccl-cu12==2.27.3",
    "nvidia-npp-cu12==12.4.1.87",
    "nvidia-nvjpeg-cu12==12.4.0.76",
    "nvidia-nvshmem-cu12==3.8.0",
)

DISPATCH = "design: NVIDIA's own library, which chooses between its kernels at run time"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is thought of rows of these libraries (shell patterns over file name and images) and why."""

    requirement: str
    library: str
    about: str
    text: str


SPECIFIC = "design: kernels for one architecture (CUTLASS 3, FP4), called after a check of the GPU"
MIXED = "design: CUTLASS 2 kernels; the GPUs that lack them have CUTLASS 3 kernels instead"
FA3 = "design: FlashAttention 3 is chosen on compute capability 9 alone (`vllm/attention/utils/fa_utils.py`)"
SGL_FA3 = "design: FlashAttention 3 is for 8.x and 9.x (`is_fa3_supported` in `sgl_kernel/flash_attn.py`)"
FA2 = "design: FlashAttention 2 needs 8.0"
MLA = "design: kernels for multi-head latent attention on 9.0 and 10.0, chosen by the program"
BFLOAT = "design: bfloat16, which vllm offers from 8.0 on (`vllm/platforms/cuda.py`)"
UNUSED = "harmless: names that only images below sm_80 have; the program launches the others"
SEEN = "gap, seen only because one forgotten unit has PTX for 5.2; vllm does not promise these GPUs"
PER_FILE = "gap below by a list of its own for quantized kernels (Marlin); above by PTX"

JUDGEMENTS = (
    Judgement(
        "torch==*", "libtorch_cuda.so", "cubin*tinygemm*", "design: int4 kernels written with sm_80's instructions"
    ),
    Judgement(
        "torch==*", "libtorch_cuda.so", "*", "gap, since libtorch_cuda_linalg.so has older GPUs and the rest has not"
    ),
    Judgement("vllm==*", "_vllm_fa3_C*", "*", FA3),
    Judgement("vllm==*", "_vllm_fa2_C*", "*", FA2),
    Judgement("vllm==*", "_flashmla*", "*", MLA),
    Judgement("vllm==*", "_C.abi3.so", "cubin for sm_7? *", BFLOAT),
    Judgement("vllm==*", "_C.abi3.so", "cubin *", UNUSED),
    Judgement("vllm==*", "_C.abi3.so", "sm_80 sm_89*", MIXED),
    Judgement("vllm==*", "_C.abi3.so", "sm_90a*", SPECIFIC),
    Judgement("vllm==*", "_C.abi3.so", "sm_100a*", SPECIFIC),
    Judgement("vllm==*", "_C.abi3.so", "sm_120a*", SPECIFIC),
    Judgement("vllm==*", "*", "sm_75 sm_80 *", PER_FILE),
    Judgement("vllm==*", "*", "sm_80 sm_87 *", PER_FILE),
    Judgement("vllm==*", "*", "sm_70 *", SEEN),
    Judgement("sgl-kernel==*", "flash_ops*", "*", SGL_FA3),
    Judgement("sgl-kernel==*", "flashmla_ops*", "*", MLA),
    Judgement("sgl-kernel==*", "*", "*", "gap: 100a and 120a do not run on their siblings, and only mscclpp has PTX"),
    Judgement("xformers==*", "_C.so", "*", "design: FlashAttention needs 8.0 (`CUDA_MINIMUM_COMPUTE_CAPABILITY`)"),
    Judgement(
        "torchao==*",
        "_C_cutlass_90a*",
        "*",
        "design: named for it, and loaded on every GPU beside the other (`__init__.py`)",
    ),
    Judgement("torchao==*", "_C_mxfp8*", "*", "design: MX formats begin with 10.0"),
    Judgement("bitsandbytes==*", "*", "*", "design: one library per CUDA version, of which the program loads one"),
    Judgement(
        "onnxruntime-gpu==*",
        "*",
        "cubin for sm_[67]*",
        "gap by the source: the program registers bfloat16 of 4-bit weights; a launch fails",
    ),
    Judgement("onnxruntime-gpu==*", "*", "cubin *", UNUSED),
    Judgement(
        "ctranslate2==*", "*", "cubin *", "gap by the source: AWQ's second kernel begins with 7.5; a launch below fails"
    ),
    Judgement("cupy-cuda12x==*", "*", "cubin for sm_5*", "design: half precision begins with 5.3"),
    Judgement("spconv-cu120==*", "*", "sm_52 *", "gap at 5.0: nvcc's default list in 195 of 606 units"),
    Judgement("spconv-cu120==*", "*", "sm_60 *", "gap at 5.x: generated units have a list of their own"),
    Judgement("nvidia-cudss-cu12==*", "*layer_*", "*", "gap at 5.0: nvcc's default list; cuDSS itself has 5.0"),
)


def judged(requirement: str, found: dict[str, Any]) -> dict[str, Any]:
    """What was measured, each row with its judgement; empty where there is none."""
    parts = [{**row, "judgement": _judgement(requirement, row["library"], row["archs"])} for row in found["parts"]]
    kernels = [
        {**row, "judgement": _judgement(requirement, row["library"], f"{row['image']} {' '.join(row['groups'])}")}
        for row in found["kernels"]
    ]
    return {**found, "parts": parts, "kernels": kernels}


def _judgement(requirement: str, library: str, about: str) -> str:
    name = library.rpartition("/")[2]
    for judgement in JUDGEMENTS:
        fits = fnmatchcase(requirement, judgement.requirement) and fnmatchcase(name, judgement.library)
        if fits and fnmatchcase(about, judgement.about):
            return judgement.text
    return DISPATCH if is_toolkit_library(name) else ""
