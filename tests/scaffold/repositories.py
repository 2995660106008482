"""Repositories as people have them, small, of each kind; and how `init` and the linters are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

LLAMA = """\
cmake_minimum_required(VERSION 3.14...3.28)
# project(commented VERSION 9)
project("llama.cpp" C CXX)
option(GGML_CUDA "ggml: use CUDA" OFF)
add_subdirectory(ggml)
add_executable(llama-bench bench.cpp)
add_executable(llama-server server.cpp)
target_link_libraries(llama-server PRIVATE ggml)
"""
OTHER_SERVER = """\
cmake_minimum_required(VERSION 3.20)
project(fast_tokens
  VERSION 2.3.1
  LANGUAGES CXX CUDA)
add_executable(${NAME} x.cpp)
add_executable(tokend main.cpp)
"""
WHEEL = """\
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"
[project]
name = "Flash.Kernels"
version = "0.4.0rc1"
"""
TOOLS_ONLY = "[tool.black]\nline-length = 120\n"
DOCKERFILE = "FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\nCOPY server /srv/server\n"
ORIGIN = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@github.com:somebody/fast-tokens.git\n\tfetch = +x\n'


def repository(folder: Path, **files: str) -> Path:
    """A folder with these files; ``__`` stands for a dot, ``___`` for a slash."""
    for name, text in files.items():
        path = folder / name.replace("___", "/").replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def cubingate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in ``folder`` as a user would."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "pipeline", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` by its path; links count by where they lead."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() or path.is_symlink())
    return {
        str(path.relative_to(folder)): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in files
    }


def lint(folder: Path) -> None:
    """What `nox -s lint` holds this repository's workflows against, at the strictest settings."""
    files = [str(path) for path in sorted((folder / ".github/workflows").glob("*.yml"))]
    assert files
    for command in (
        ["zizmor", "--offline", "--no-progress", "--persona", "auditor", *files],
        ["actionlint", *files],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files],
    ):
        done = subprocess.run([str(BIN / command[0]), *command[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
