"""What makers document about a package: a compute capability and driver range, in which document of which version."""

from __future__ import annotations

from dataclasses import dataclass

from tests.released.corpus import BITSANDBYTES, TORCH, VLLM
from tests.released.known import Package

SMS = ("60", "61", "70", "75", "80", "89", "90", "120")
DRIVERS = ("535", "550", "580")


@dataclass(frozen=True, slots=True)
class Document:
    """A public document; ``version`` is that of the product it describes, or the day it was read."""

    title: str
    version: str
    address: str


@dataclass(frozen=True, slots=True)
class Statement:
    """That a package works, or fails, on every one of these GPUs with every one of these drivers."""

    works: bool
    says: str
    document: Document
    sms: tuple[str, ...] = SMS
    drivers: tuple[str, ...] = DRIVERS


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the answer differs from the documents there. ``declared``: it passes with ``by_design`` of the package."""

    text: str
    sms: tuple[str, ...]
    drivers: tuple[str, ...] = DRIVERS
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """A released file, what its makers document, the libraries they load only on some GPUs, and every difference."""

    package: Package
    statements: tuple[Statement, ...]
    by_design: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    remark: str = ""


def _blackwell() -> Statement:
    return Statement(False, "Blackwell from CUDA 12.8, driver 570, on", CUDA_128, ("120",), ("535", "550"))


def _since(first: str, drivers: tuple[str, ...] = DRIVERS) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return SMS[SMS.index(first) :], drivers


MINOR = Document(
    "CUDA minor version compatibility",
    "read 2026-11",
    "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
)
CUDA_128 = Document(
    "CUDA toolkit release notes", "12.8.1", "https://docs.nvidia.com/cuda/archive/12.8.1/cuda-toolkit-release-notes/"
)
TORCH_28 = Document("PyTorch release notes", "2.8.0", "https://github.com/pytorch/pytorch/releases/tag/v2.8.0")
TORCH_28_LIST = Document("pytorch#158301", "2.8.0", "https://github.com/pytorch/pytorch/issues/158301")
TORCH_211 = Document(
    "PyTorch support matrix on dev-discuss",
    "2.11 (nearest to 2.14.1)",
    "https://dev-discuss.pytorch.org/t/dropping-volta-support-from-cuda-12-8-binaries-for-release-2-11/3290",
)
XFORMERS_31 = Document(
    "xFormers changelog", "0.0.31", "https://github.com/facebookresearch/xformers/blob/main/CHANGELOG.md"
)
XFORMERS_OPS = Document("xformers/ops/fmha in the wheel", "0.0.32.post2", "")
BNB = Document("installation", "0.48.1", "https://huggingface.co/docs/bitsandbytes/v0.48.1/installation")
BNB_BUILD = Document("bitsandbytes#1781", "0.48", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1781")
VLLM_GPU = Document(
    "GPU installation",
    "commit 0baaf0ea, CUDA 12.8 binaries",
    "https://github.com/vllm-project/vllm/blob/0baaf0eaef91351b3916e51f200ea96fe8566f99/"
    "docs/getting_started/installation/gpu/cuda.inc.md",
)
CUPY = Document("installation", "14 (stable)", "https://docs.cupy.dev/en/stable/install.html")
JAX = Document(
    "installation",
    "commit 00528b98, CUDA 12.3 wheels (nearest found to 0.10.2)",
    "https://github.com/jax-ml/jax/blob/00528b9858a0a6da2c32434f46fa6ab53149cebc/docs/installation.md",
)
FLASHINFER = Document("README", "0.6.18.post1 (nearest to 0.6.13)", "https://github.com/flashinfer-ai/flashinfer")
SGLANG = Document(
    "refusal in sglang's model_runner.py",
    "read 2026-11",
    "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/model_executor/model_runner.py",
)
CUDA13 = Statement(False, "CUDA 13 needs driver 580", MINOR, drivers=("535", "550"))
PASCAL, VOLTA = ("60", "61"), ("60", "61", "70")

TORCH_12 = Subject(
    TORCH,
    (
        Statement(False, "CUDA 12.8 builds dropped Maxwell and Pascal", TORCH_28, PASCAL),
        Statement(True, "70 75 80 86 90 100 120", TORCH_28_LIST, SMS[2:-1]),
        Statement(True, "70 75 80 86 90 100 120", TORCH_28_LIST, ("120",), ("580",)),
        Statement(True, "CUDA 12 from driver 525 on", MINOR, SMS[2:-1]),
        _blackwell(),
    ),
)
TORCH_13 = Subject(
    Package(
        "torch",
        "2.14.1",
        "torch-2.14.1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "305a61f61f35f128579f299c5bd33d475f6a01c6307336139632e30856c4854d",
        (),
    ),
    (
        CUDA13,
        Statement(False, "CUDA 13.0 builds: 7.5 and newer", TORCH_211, VOLTA, ("580",)),
        Statement(True, "CUDA 13.0 builds: 7.5 8.0 8.6 9.0 10.0 12.0+PTX", TORCH_211, *_since("75", ("580",))),
    ),
    explanations=(
        Explanation(
            "`libtorch_cuda_linalg.so`, all 65 of its containers, holds sm_80 and newer only, and no PTX that Turing "
            "could use; the other 476 have sm_75. The matrix speaks of the build's list, not of each library: on a T4 "
            "this library's kernels are expected to fail, the others to run. "
            "NVIDIA's cuobjdump lists the same. No public report was found; not measured",
            ("75",),
            ("580",),
        ),
    ),
)
XFORMERS = Subject(
    Package(
        "xformers",
        "0.0.32.post2",
        "xformers-0.0.32.post2-cp39-abi3-manylinux_2_28_x86_64.whl",
        "3d1fefe0006eb00a730b3b197ff41aab085f1209b50419baab6152445f09e508",
        (),
    ),
    (
        Statement(False, "V100 and older are no longer supported", XFORMERS_31, VOLTA),
        Statement(True, "operators from 5.0 on, FlashAttention 3 from 8.0 on", XFORMERS_OPS, SMS[3:-1]),
        _blackwell(),
    ),
    by_design=("_C.so",),
    explanations=(
        Explanation(
            "FlashAttention 3 (153 containers, sm_80 and newer) is chosen in Python, from 8.0 on; the bytes do "
            "not show it. Both libraries are named `_C.so`, so a declaration by name covers the other one too",
            ("75",),
            declared=True,
        ),
    ),
    remark="For `120@580` no document was found that names this release.",
)
BITS = Subject(
    BITSANDBYTES,
    (
        Statement(True, "compute capability 6.0 and newer", BNB, SMS[:-1]),
        Statement(True, "from CUDA 12.8 on also 100 and 120", BNB_BUILD, ("120",), ("580",)),
        _blackwell(),
    ),
    remark="LLM.int8() alone asks for 7.5, says the same page; the bytes do not show it.",
)
VLLM_12 = Subject(
    VLLM,
    (
        Statement(False, "compute capability 7.0 or higher", VLLM_GPU, PASCAL),
        Statement(True, "compute capability 7.0 or higher", VLLM_GPU, ("70", "75")),
        Statement(True, "compute capability 7.0 or higher", VLLM_GPU, *_since("80", ("580",))),
        _blackwell(),
    ),
    by_design=("_vllm_fa3_C.abi3.so", "_C.abi3.so", "_flashmla*.so"),
    explanations=(
        Explanation(
            "The page speaks of vLLM, not of this wheel, which has code for Volta in 33 and for Turing in 34 of 495 "
            "containers. FlashAttention is one backend of several and chosen in Python, but `_C` and `_moe_C` have "
            "containers without code for these GPUs too",
            ("70", "75"),
        ),
        Explanation(
            "FlashAttention 3 and FlashMLA are chosen on 9.x and 10.x alone; the bytes do not show it",
            ("120",),
            ("580",),
            declared=True,
        ),
    ),
    remark="The page names no driver. What users reported of R550 stands in [wheels.md](wheels.md).",
)
CUPY_HOST = ("libcutensor.so.2", "libcutensorMg.so.2", "libnccl.so.2")
CUPY_12 = Subject(
    Package(
        "cupy-cuda12x",
        "14.2.0",
        "cupy_cuda12x-14.2.0-cp311-cp311-manylinux2014_x86_64.whl",
        "5fe2366cc5c61a7ee4a527ce1e8951cb89092d0fb0b5830623cf114d1942c585",
        (),
        CUPY_HOST,
    ),
    (
        Statement(True, "compute capability 3.0 or larger, CUDA 12.0 and newer", CUPY, SMS[:-1]),
        Statement(True, "CUDA 12 from driver 525 on", MINOR, SMS[:-1]),
        Statement(True, "compute capability 3.0 or larger, CUDA 12.0 and newer", CUPY, ("120",), ("580",)),
        _blackwell(),
    ),
)
CUPY_13 = Subject(
    Package(
        "cupy-cuda13x",
        "14.2.0",
        "cupy_cuda13x-14.2.0-cp311-cp311-manylinux2014_x86_64.whl",
        "f94843e54500a9c8c169135f79572bfaba946efe4f7178e834c227280c1b0c12",
        (),
        CUPY_HOST,
    ),
    (
        CUDA13,
        Statement(True, "compute capability 3.0 or larger, CUDA 13.0 and newer", CUPY, drivers=("580",)),
    ),
    explanations=(
        Explanation(
            "The page gives one floor for all of CuPy's wheels. CUDA 13 compiles for nothing below 7.5 ([release "
            "notes](https://docs.nvidia.com/cuda/archive/13.0.0/cuda-toolkit-release-notes/)), neither ahead of time "
            "nor by NVRTC, and this wheel's containers begin at sm_75",
            VOLTA,
            ("580",),
        ),
    ),
)
JAX_12 = Subject(
    Package(
        "jax-cuda12-plugin",
        "0.10.2",
        "jax_cuda12_plugin-0.10.2-cp311-cp311-manylinux_2_27_x86_64.whl",
        "76bbfece2f6effb4e8908eb8a5fbf1abbc1125de667683ec2ffba51c63dc57af",
        (),
    ),
    (
        Statement(True, "5.2 or newer, driver 525.60.13 or newer", JAX, SMS[:-1]),
        Statement(True, "5.2 or newer, driver 525.60.13 or newer", JAX, ("120",), ("580",)),
        _blackwell(),
    ),
)
FLASHINFER_CUBIN = Subject(
    Package(
        "flashinfer-cubin",
        "0.6.13",
        "flashinfer_cubin-0.6.13-py3-none-any.whl",
        "41e4848c2d09d220e8394489b2fb6cfec6b6ad09f897b5ab8b39fc23055f6c24",
        (),
    ),
    (Statement(False, "FlashInfer supports 7.5 and later", FLASHINFER, VOLTA), _blackwell()),
    remark="No document was found that says which GPUs its cubins are for; FlashInfer compiles at run time as well.",
)
SGL_HOST = (
    "libtorch.so",
    "libtorch_cpu.so",
    "libtorch_cuda.so",
    "libc10.so",
    "libc10_cuda.so",
    "libcudart.so.12",
    "libnvrtc.so.12",
    "libcublas.so.12",
    "libcublasLt.so.12",
    "libnuma.so.1",
)
SGL_KERNEL = Subject(
    Package(
        "sgl-kernel",
        "0.3.21",
        "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl",
        "57dfb3a2a3cd759f499c32e2bad5f6489b7c58f7f9a84ee00c53ec92d303aaab",
        (),
        SGL_HOST,
    ),
    (
        Statement(False, "sm75 and above", SGLANG, VOLTA),
        Statement(True, "sm75 and above", SGLANG, SMS[3:-1]),
        Statement(True, "sm75 and above", SGLANG, ("120",), ("580",)),
        Statement(True, "CUDA 12 from driver 525 on", MINOR, SMS[3:-1]),
        _blackwell(),
    ),
    by_design=("flash_ops.abi3.so", "flashmla_ops.abi3.so"),
    explanations=(
        Explanation(
            "The refusal is older than this wheel: none of its 354 containers has code that Turing can run", ("75",)
        ),
        Explanation(
            "`spatial_ops.abi3.so` imports `cuGreenCtxCreate` and six more entry points of CUDA 12.4, which R535 "
            "lacks. The wheel's `spatial.py` says so too, and goes on without: that feature alone is missing",
            ("80", "89", "90"),
            ("535",),
        ),
        Explanation(
            "FlashAttention 3 and FlashMLA are for 8.x, 9.x and 10.x, and the program chooses; the bytes do not show "
            "it",
            ("120",),
            ("580",),
            declared=True,
        ),
    ),
)
SUBJECTS = (
    TORCH_12,
    TORCH_13,
    XFORMERS,
    BITS,
    VLLM_12,
    CUPY_12,
    CUPY_13,
    FLASHINFER_CUBIN,
    SGL_KERNEL,
    JAX_12,
)
