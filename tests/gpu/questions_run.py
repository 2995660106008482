"""Two questions that only a driver answers, asked of one: what of entries that lie, and of programs linked at load.

    python -m tests.gpu.questions_run --out DIR

It needs nvcc and a GPU of SM 9.0. ``entry headers``: a container whose header names another architecture than its ELF.
``device links``: programs built with ``-rdc=true`` whose final container lacks the GPU, with and without relocatable
PTX.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pipeline.machine import installed_gpus, this_machine
from tests.gpu.evidence_run import now, write

KERNEL = "__global__ void k(int *x) { *x = 1; }\n"
CALLER = """\
#include <cstdio>
extern __device__ int twice(int);
__global__ void k(int *x) { *x = twice(21); }
int main() {
    int *there, here = 0;
    cudaMalloc(&there, sizeof here);
    k<<<1, 1>>>(there);
    cudaError_t launch = cudaGetLastError();
    cudaMemcpy(&here, there, sizeof here, cudaMemcpyDeviceToHost);
    printf("%s %d\\n", cudaGetErrorName(launch), here);
    return launch != cudaSuccess || here != 42;
}
"""
CALLED = "__device__ int twice(int x) { return 2 * x; }\n"
LINKS = {
    "relocatable PTX, final cubin for another SM": ("arch=compute_80,code=compute_80", "arch=compute_89,code=sm_89"),
    "relocatable PTX, nothing final": ("arch=compute_80,code=compute_80",),
    "no PTX, final cubin for another SM": ("arch=compute_89,code=sm_89",),
    "final cubin for this SM": ("arch=compute_90,code=sm_90",),
}
VARIABLES: dict[str, dict[str, str]] = {
    "as_is": {},
    "jit_forbidden": {"CUDA_DISABLE_PTX_JIT": "1"},
    "jit_forced": {"CUDA_FORCE_PTX_JIT": "1"},
}
LIES = ((80, 90), (89, 90), (90, 80), (90, 89))
_MAGIC = 0xBA55ED50


def main() -> int:
    """Ask both, and keep the answers."""
    parser = argparse.ArgumentParser(description="questions to a driver")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        answers = {
            "kind": "questions",
            "finished": now(),
            "machine": this_machine(engine="process", gpu=installed_gpus()[0]).shared.to_json(),
            "nvcc": run("nvcc", "--version").stdout.splitlines()[-1],
            "entry_headers": [entry_header(folder, real, said) for real, said in LIES],
            "device_links": [device_link(folder, name, codes) for name, codes in LINKS.items()],
        }
    write(arguments.out / "questions.json", answers)
    sys.stdout.write(json.dumps(answers, indent=1) + "\n")
    return 0


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CUDA_CACHE_DISABLE": "1", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def entry_header(folder: Path, real: int, said: int) -> dict[str, Any]:
    """Load a container of one entry whose header says ``said`` over an ELF for ``real``."""
    source, fatbin = folder / "k.cu", folder / f"{real}-{said}.fatbin"
    source.write_text(KERNEL)
    code = f"arch=compute_{real},code=sm_{real}"
    done = run("nvcc", "-fatbin", "-gencode", code, "--compress-mode=none", source, "-o", fatbin)
    assert done.returncode == 0, done.stderr
    content = bytearray(fatbin.read_bytes())
    magic, _, header = struct.unpack_from("<IHH", content)
    assert magic == _MAGIC
    assert struct.unpack_from("<I", content, header + 28) == (real,)
    struct.pack_into("<I", content, header + 28, said)
    fatbin.write_bytes(content)
    told = run(sys.executable, "-m", "pipeline", "load", fatbin, "--format", "json")
    (container,) = json.loads(told.stdout)["containers"]
    kept = ("result", "jit_forbidden", "jit_forced", "predicted", "agrees")
    return {"elf": real, "header": said, **{name: container[name] for name in kept}}


def device_link(folder: Path, name: str, codes: tuple[str, ...]) -> dict[str, Any]:
    """Build a program of two files with a device call between them, and run it under each JIT setting."""
    (folder / "a.cu").write_text(CALLER)
    (folder / "b.cu").write_text(CALLED)
    program = folder / "program"
    gencode = [word for code in codes for word in ("-gencode", code)]
    done = run("nvcc", "-rdc=true", *gencode, folder / "a.cu", folder / "b.cu", "-o", program)
    assert done.returncode == 0, done.stderr
    answers = {setting: run(program, **variables).stdout.strip() for setting, variables in VARIABLES.items()}
    return {"program": name, "gencode": list(codes), **answers}


if __name__ == "__main__":
    sys.exit(main())
