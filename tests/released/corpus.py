"""The packages that are audited for the evidence, with what is publicly known about each (read in November 2026)."""

from __future__ import annotations

from tests.released.known import Index, Package, Row, fails, issue, page, works

MINOR = page(
    "CUDA minor version compatibility",
    "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
)
MEASURED = "measured for this project: H200, driver 580.159.04"

BNB_DOCS = page("bitsandbytes 0.48.1, installation", "https://huggingface.co/docs/bitsandbytes/v0.48.1/installation")
BNB_BUILD = issue("bitsandbytes-foundation/bitsandbytes", 1781)
BITSANDBYTES = Package(
    name="bitsandbytes",
    version="0.48.1",
    filename="bitsandbytes-0.48.1-py3-none-manylinux_2_24_x86_64.whl",
    sha256="3e72cf07ba6d2169e69a61282a6f072fc675efee86049e56a33de099a0363ef2",
    rows=(
        Row("52@535", (fails("no Maxwell in the wheels from 0.48.0 on", BNB_DOCS),)),
        Row("61@535", (works("compute capability 6.0 and newer", BNB_DOCS),)),
        Row("80@470.82.01", (works("the CUDA 11.8 build, on drivers of its major", MINOR),)),
        Row("90@535", (works("builds for 60 70 75 80 86 89 90", BNB_BUILD),)),
        Row("100@570", (works("from CUDA 12.8 on also 100 and 120", BNB_BUILD),)),
        Row("120@570", (works("from CUDA 12.8 on also 100 and 120", BNB_BUILD),)),
        Row(
            "87@560.35.03",
            (works("a build for sm_80 alone ran on an Orin", issue("bitsandbytes-foundation/bitsandbytes", 1939)),),
            explained=(
                "NVIDIA documents that cubins do not pass between desktop and Tegra, and nvJitLink up to 13.1 refuses "
                "them; that report and newer nvJitLink say that they may. A promise needs more. (This wheel is x86_64, "
                "so no Jetson meets it)"
            ),
        ),
    ),
)

TORCH_280 = page("torch 2.8.0, release notes", "https://github.com/pytorch/pytorch/releases/tag/v2.8.0")
TORCH_LIST = issue("pytorch/pytorch", 158301)
TORCH = Package(
    name="torch",
    version="2.8.0",
    filename="torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    sha256="c12fa219f51a933d5f80eeb3a7a5d0cbe9168c0a14bbb4055f1979431660879b",
    rows=(
        Row(
            "61@535",
            (
                fails("CUDA 12.8 builds dropped Maxwell and Pascal", TORCH_280),
                fails("the wheels are for 70 75 80 86 90 100 120", TORCH_LIST),
            ),
        ),
        Row("70@535", (works("Volta is back in the 12.8 builds", TORCH_LIST),)),
        Row("80@525.60.13", (works("CUDA 12 cubins from 525.60.13 on", MINOR),)),
        Row("90@535", (works("the wheels are for 70 75 80 86 90 100 120", TORCH_LIST),)),
        Row("120@570", (works("the wheels are for 70 75 80 86 90 100 120", TORCH_LIST),)),
        Row("121@580", (works("code for 12.0 runs on GB10", issue("pytorch/pytorch", 164590)),)),
    ),
)

VLLM_DISPATCH = "vllm 0.11.0, `vllm/attention/utils/fa_utils.py` in the wheel"
VLLM_LIBRARIES = ("_vllm_fa3_C.abi3.so", "_C.abi3.so", "_flashmla*.so")
VLLM_BLACKWELL = (
    works("FlashAttention 3 is chosen on 9.x alone, 2 elsewhere", VLLM_DISPATCH),
    works("the same, as reviewed", issue("vllm-project/vllm", 14244)),
)
VLLM_DECLARED = "The program chooses; the bytes do not show it. With the libraries declared (next row) it passes"
VLLM = Package(
    name="vllm",
    version="0.11.0",
    filename="vllm-0.11.0-cp38-abi3-manylinux1_x86_64.whl",
    sha256="3861c75ff2b12e24f6d179ff5c084d791b42ded8675d76c8706697c79f68cd62",
    rows=(
        Row("61@535", (fails("GTX 1080 Ti: no kernel image (0.9.1)", issue("vllm-project/vllm", 19542)),)),
        Row("75@580"),
        Row("80@550"),
        Row("80@570", (works("the driver of CUDA 12.8", issue("vllm-project/vllm", 28305)),)),
        Row(
            "90@550",
            (
                fails("H100 with 550.144.03: unsupported toolchain (0.11.2)", issue("vllm-project/vllm", 31700)),
                fails("the same, with a vision model (0.11.0)", issue("vllm-project/vllm", 37140)),
                fails("the same, raised in `_vllm_fa2_C` (nightly)", issue("vllm-project/vllm", 28030)),
            ),
        ),
        Row("90@570", (works("the driver of CUDA 12.8", issue("vllm-project/vllm", 28305)),)),
        Row("100@570", VLLM_BLACKWELL, explained=VLLM_DECLARED),
        Row("100@570", VLLM_BLACKWELL, by_design=VLLM_LIBRARIES),
        Row("120@570", VLLM_BLACKWELL, explained=VLLM_DECLARED),
        Row("120@570", VLLM_BLACKWELL, by_design=VLLM_LIBRARIES),
    ),
)

CUDA_128 = page("CUDA 12.8 release notes", "https://docs.nvidia.com/cuda/archive/12.8.1/cuda-toolkit-release-notes/")
CUBLAS = Package(
    name="nvidia-cublas-cu12",
    version="12.8.4.1",
    filename="nvidia_cublas_cu12-12.8.4.1-py3-none-manylinux_2_27_x86_64.whl",
    sha256="8ac4e771d5a348c551b2a426eda6193c19aa630236b418086020df5ba9667142",
    rows=(
        Row("61@535", (works("12.8 deprecates Pascal, 13.0 drops it", issue("pytorch/pytorch", 157517)),)),
        Row("80@525.60.13", (works("CUDA 12 libraries from 525.60.13 on", MINOR),)),
        Row("90@535", (works("CUDA 12 libraries from 525.60.13 on", MINOR),)),
        Row("120@570", (works("12.8 adds Blackwell", CUDA_128),)),
        Row("80@470.82.01", (fails("CUDA 12 needs 525.60.13", MINOR),)),
    ),
)
CUDNN = Package(
    name="nvidia-cudnn-cu12",
    version="9.10.2.21",
    filename="nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl",
    sha256="949452be657fa16687d0930933f032835951ef0892b37d2d53824d1a84dc97a8",
    rows=(
        Row("80@525.60.13", (works("CUDA 12 libraries from 525.60.13 on", MINOR),)),
        Row("90@535", (works("CUDA 12 libraries from 525.60.13 on", MINOR),)),
    ),
)
CUSPARSE = Package(
    name="nvidia-cusparse-cu12",
    version="12.5.8.93",
    filename="nvidia_cusparse_cu12-12.5.8.93-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    sha256="1ec05d76bbbd8b61b06a80e1eaf8cf4959c3d4ce8e711b65ebd0443bb0ebb13b",
    rows=(
        Row("80@525.60.13", (works("CUDA 12 libraries from 525.60.13 on", MINOR),)),
        Row("90@535", (works("CUDA 12 libraries from 525.60.13 on", MINOR),)),
    ),
)

XGB_FLOOR = issue("dmlc/xgboost", 11345)
XGB_BLACKWELL = issue("dmlc/xgboost", 11191)
XGBOOST = Package(
    name="xgboost",
    version="3.0.5",
    filename="xgboost-3.0.5-py3-none-manylinux_2_28_x86_64.whl",
    sha256="a03210a3e54c9e543f480db9636fee57247cfcd1ae850b353aeac59eea5ca350",
    rows=(
        Row("50@535", (works("CUDA 12.0 and compute capability 5.0 asked for", XGB_FLOOR),)),
        Row("80@525.60.13", (works("built by 12.8, CUDA 12.0 asked for", issue("dmlc/xgboost", 11344)),)),
        Row("90@535", (works("CUDA 12.0 and compute capability 5.0 asked for", XGB_FLOOR),)),
        Row("100@570", (works("12.8 builds add 100 and 120", XGB_BLACKWELL),)),
        Row("120@570", (works("12.8 builds add 100 and 120", XGB_BLACKWELL),)),
    ),
)

CTRANSLATE2 = Package(
    name="ctranslate2",
    version="4.6.0",
    filename="ctranslate2-4.6.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    sha256="79e4f2e8ea7f24797c80e0f4593d30447ef8da9036ebb4402b7f6c54687b7a46",
    rows=(
        Row("50@535", (fails("Quadro K2200: no kernel image", issue("OpenNMT/CTranslate2", 1666)),)),
        Row("80@525.60.13", (works("CUDA 12 cubins from 525.60.13 on", MINOR),)),
        Row("90@525.60.13"),
        Row("90@535"),
        Row(
            "120@570",
            (works("RTX 50: float16, float32 and bfloat16 work", issue("OpenNMT/CTranslate2", 1865)),),
        ),
    ),
)

FAISS_README = "faiss-gpu-cu12 1.12.0, README in the wheel"
FAISS = Package(
    name="faiss-gpu-cu12",
    version="1.12.0",
    filename="faiss_gpu_cu12-1.12.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    sha256="ecc9c515fdf6a215d8a781bc9e931eca4e2d40217f928594088e42d0d7ff8d52",
    rows=(
        Row("61@535", (fails("compute capability 7.0 to 8.9", FAISS_README),)),
        Row("70@535", (works("compute capability 7.0 to 8.9", FAISS_README),)),
        Row("89@535", (works("compute capability 7.0 to 8.9", FAISS_README),)),
        Row(
            "90@535",
            (
                fails("compute capability 7.0 to 8.9", FAISS_README),
                fails("H100: error 209 (1.13.2)", issue("faiss-wheels/faiss-wheels", 151)),
            ),
        ),
        Row(
            "120@570",
            (
                fails("RTX 5090 (1.12.0)", issue("facebookresearch/faiss", 4676)),
                fails("RTX 50: error 209", issue("Di-Is/faiss-gpu-wheels", 110)),
            ),
        ),
    ),
)

ORT_90A = issue("microsoft/onnxruntime", 26230)
ONNXRUNTIME = Package(
    name="onnxruntime-gpu",
    version="1.23.0",
    filename="onnxruntime_gpu-1.23.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    sha256="6b474c8aaa4e4f24a6503041efea3c13467f5dd824b65add3e49298cf9efb0aa",
    rows=(
        Row("80@535"),
        Row("90@535", (works("built with 90a", ORT_90A),)),
        Row("100@570", (fails("90a-virtual serves nothing newer", ORT_90A),)),
        Row(
            "120@570",
            (
                fails("90a-virtual serves nothing newer", ORT_90A),
                fails("RTX 5090 laptop: no kernel image", issue("microsoft/onnxruntime", 26181)),
                fails("RTX PRO 4500: no kernel image", issue("microsoft/onnxruntime", 26245)),
            ),
        ),
    ),
    host=("libcublas.so.12", "libcublasLt.so.12", "libnvinfer.so.10", "libnvonnxparser.so.10"),
)

NODE_LLAMA_CPP = Package(
    name="@node-llama-cpp/linux-x64-cuda",
    version="3.22.1",
    filename="node-llama-cpp-linux-x64-cuda-3.22.1.tgz",
    sha256="d6cd3ff39a43b024816952e0bc6452d6711608d26256ff6eb0fe8cf7ff55bb2c",
    rows=(
        Row("61@580", (fails("CUDA 13 compiles for nothing below 7.5", issue("docker/model-runner", 986)),)),
        Row("80@580"),
        Row("80@590"),
        Row("86@580"),
        Row("90@580.159.04", (fails("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", MEASURED),)),
        Row("90@590"),
        Row("120@580"),
    ),
    host=("libcudart.so.13", "libcublas.so.13"),
    index=Index.NPM,
)

PACKAGES = (
    BITSANDBYTES,
    TORCH,
    VLLM,
    ONNXRUNTIME,
    FAISS,
    CTRANSLATE2,
    XGBOOST,
    CUBLAS,
    CUDNN,
    CUSPARSE,
    NODE_LLAMA_CPP,
)
