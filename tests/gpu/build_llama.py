"""Build llama-server as a CUDA lane of matrix.yaml does, for another architecture and without Docker.

    python -m tests.gpu.build_llama llama-src.tar.xz --archs 89-real --out FOLDER --jobs 14

for a machine with a CUDA toolkit of the lane's release, cmake, ninja and g++. The source is the lane's (a tar archive
with ``llama.cpp/`` in it, or the sdist itself); definitions, stripping, packing and the shipped libcudart are the
lane's too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

from pipeline.build.pack import pack
from pipeline.build.render import render_dockerfile
from pipeline.matrix.archs import parse_archs
from pipeline.matrix.load import load_plan
from pipeline.policy import load_policy
from pipeline.resources import find_resources

LANE = "cuda13.0-sm90"
ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Configure, build, strip, pack."""
    parser = argparse.ArgumentParser(description="build llama-server for another architecture")
    parser.add_argument("source", type=Path)
    parser.add_argument("--archs", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--toolkit", type=Path, default=Path("/usr/local/cuda"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        build(unpacked(arguments.source, folder), folder / "build", arguments)
        name = f"llama-server-b11434-linux-x86_64-cuda13.0-{arguments.archs}"
        bundle = collected(folder, arguments.toolkit)
        arguments.out.mkdir(parents=True, exist_ok=True)
        pack(bundle, arguments.out / f"{name}.tar.gz", top=name, source_date_epoch=315532800)
    sys.stdout.write(f"{arguments.out / name}.tar.gz\n")
    return 0


def unpacked(source: Path, folder: Path) -> Path:
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    return next(path.parent for path in sorted((folder / "source").glob("**/llama.cpp/CMakeLists.txt")))


def definitions(archs: str) -> dict[str, str]:
    """The lane's CMake cache entries with other architectures."""
    policy = load_policy()
    lane = next(lane for lane in load_plan(ROOT / "matrix.yaml", policy=policy).lanes if lane.id == LANE)
    assert lane.recipe is not None
    assert lane.toolkit is not None
    other = replace(lane, archs=parse_archs(archs, ()))
    return render_dockerfile(other, lane.recipe, "none", find_resources()).definitions


def build(source: Path, folder: Path, arguments: argparse.Namespace) -> None:
    defined = [f"-D{name}={value}" for name, value in definitions(arguments.archs).items()]
    rpath = ["-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-DCMAKE_INSTALL_RPATH=$ORIGIN:$ORIGIN/../lib"]
    nvcc = f"-DCMAKE_CUDA_COMPILER={arguments.toolkit / 'bin' / 'nvcc'}"
    places: list[str | Path] = ["-S", source, "-B", folder]
    subprocess.run(["cmake", *places, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", nvcc, *rpath, *defined], check=True)
    subprocess.run(
        ["nice", "cmake", "--build", folder, "--target", "llama-server", "-j", str(arguments.jobs)], check=True
    )


def collected(folder: Path, toolkit: Path) -> Path:
    """The bundle's folder: the server, stripped, and the toolkit's libcudart under its soname."""
    bundle = folder / "bundle"
    (bundle / "bin").mkdir(parents=True)
    (bundle / "lib").mkdir()
    shutil.copy2(folder / "build" / "bin" / "llama-server", bundle / "bin")
    subprocess.run(["strip", "--strip-unneeded", bundle / "bin" / "llama-server"], check=True)
    shutil.copyfile((toolkit / "lib64" / "libcudart.so.13").resolve(), bundle / "lib" / "libcudart.so.13")
    return bundle


if __name__ == "__main__":
    sys.exit(main())
