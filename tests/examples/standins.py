"""Stand-ins for the bundles of examples/: small, with the faults of real ones, made by NVIDIA's own tools."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.jit import nvrtc_program
from pipeline.jit.toolbox import Toolbox
from pipeline.model.jit import JitLanguage, JitSource
from pipeline.model.versions import ToolkitVersion
from pipeline.policy import load_policy
from tests import toolchain
from tests.jit.made import from_cache
from tests.rules.forge import Elf, build, container, pack
from tests.toolchain import Image, ptxas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TOOLKIT = "12.6"
ZEROS = "0" * 64
SCAN = """
#include <cub/block/block_scan.cuh>
extern "C" __global__ void thrust_inclusive_scan(const int* from, int* out) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int sum;
  Scan(storage).InclusiveSum(from[threadIdx.x], sum);
  out[threadIdx.x] = sum;
}
"""


def prepare(name: str, folder: Path) -> Path:
    """Copy the example into ``folder`` with its stand-ins, their digests in matrix.yaml, compilers from the cache."""
    place = folder / name
    shutil.copytree(EXAMPLES / name, place)
    (place / "dist").mkdir()
    text = (place / "matrix.yaml").read_text(encoding="utf-8")
    for bundle in STAND_INS[name](place / "dist"):
        digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
        before, found, after = text.partition(f"file: dist/{bundle.name}")
        text = before + found + after.replace(ZEROS, digest, 1)
    (place / "matrix.yaml").write_text(_with_triton(text), encoding="utf-8")
    _seed(place / ".cubingate" / "cache")
    return place


def _with_triton(text: str) -> str:
    """The Triton of this Python instead of the one that the example names."""
    if "wheel: triton" not in text:
        return text
    path = toolchain.wheel("triton==3.5.1")
    before, _, after = text.partition("    filename: triton-")
    rest = after.partition('sha256: "')[2][64:]
    return f'{before}    filename: {path.name}\n    sha256: "{hashlib.sha256(path.read_bytes()).hexdigest()}{rest}'


def _seed(cache: Path) -> None:
    """Let the state of the copy begin with the compilers that the tests have fetched."""
    (toolchain.cache() / "jit").mkdir(exist_ok=True)
    cache.mkdir(parents=True)
    (cache / "jit").symlink_to(toolchain.cache() / "jit")


def mlc(dist: Path) -> Iterable[Path]:
    """A model library for every card, and a runtime whose scan kernels begin with sm_70, or with sm_60."""
    for name, archs in (("before", "70 75 80"), ("after", "60 70 75 80")):
        root = dist / "mlc-llm"
        build(Elf("moe-q4f16_1-cuda.so", [container("12.8", "60 70 75 80")]), root / "models")
        build(Elf("libtvm.so", [pack([_scan(arch) for arch in archs.split()], "12.8", "lz4")]), root / "lib")
        yield _packed(dist / f"mlc-llm-{name}.tar.gz", root)


def mesh(dist: Path) -> Iterable[Path]:
    """Two programs with the same kernels, one of them packed with Zstandard, or both without."""
    for name, codec in (("before", "zstd"), ("after", "lz4")):
        root = dist / "mesh-llm"
        build(Elf("mesh-llm", program=True), root / "bin")
        build(Elf("llama-server", [container("12.8", "80 86 89 90", "lz4")], program=True), root / "bin")
        build(Elf("rpc-server", [container("12.8", "80 86 89 90", codec)], program=True), root / "bin")
        yield _packed(dist / f"mesh-llm-{name}.tar.gz", root)


def freetoken(dist: Path) -> Iterable[Path]:
    """A wheel with sources only."""
    path = dist / "freetoken_like-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in sorted((EXAMPLES / "freetoken-like" / "after").iterdir()):
            wheel.write(file, f"freetoken_like/{file.name}")
    yield path


STAND_INS: dict[str, Callable[[Path], Iterable[Path]]] = {
    "mlc-llm": mlc,
    "mesh-llm": mesh,
    "freetoken-like": freetoken,
}


def _packed(path: Path, root: Path) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        tar.add(root, root.name)
    shutil.rmtree(root)
    return path


def _scan(arch: str) -> Image:
    """CUB's block scan as machine code for one architecture."""
    return Image("cubin", arch, ptxas(TOOLKIT, f"sm_{arch}", _scan_ptx(arch)))


def _scan_ptx(arch: str) -> str:
    kept = toolchain.cache() / "scan" / f"{arch}.ptx"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        work = kept.with_suffix(".work")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        tools = Toolbox(from_cache, toolchain.cache() / "jit", platform.machine(), load_policy())
        cuda = ToolkitVersion(TOOLKIT)
        source = JitSource(
            name="scan", language=JitLanguage.CUDA, files=("scan.cu",), folder=work, headers=("cudart", "cccl")
        )
        options = [f"-arch=compute_{arch}", *(f"-I{path}" for path in tools.headers(source, cuda))]
        (work / "scan.cu").write_text(SCAN)
        job = {"name": "scan.cu", "source": "scan.cu", "options": options, "instances": []}
        (work / "job.json").write_text(json.dumps(job))
        program = str(Path(nvrtc_program.__file__))
        toolchain.run([sys.executable, "-I", "-S", program, tools.nvrtc(cuda)[0]], work)
        (work / "out.ptx").replace(kept)
        shutil.rmtree(work)
    return kept.read_text()


def commands_of(readme: Path) -> list[tuple[list[str], int]]:
    """The commands that a README shows and the status that it promises for each."""
    lines = [line[2:] for line in readme.read_text(encoding="utf-8").splitlines() if line.startswith("$ cubingate ")]
    shown = [line.partition("# status ") for line in lines]
    return [(command.split()[1:], int(status)) for command, _, status in shown]


def cubingate(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in that folder."""
    command = [sys.executable, "-m", "pipeline", *words]
    return subprocess.run(
        command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False, timeout=600
    )


def _environment(folder: Path) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "XDG_CACHE_HOME": str(folder / ".cache")}
