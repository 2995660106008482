"""Compiles one Triton kernel to PTX for a GPU that is not here, as a process of its own with its own Triton.

`python -I -S triton_program.py FOLDER`: the folder with Triton. ``job.json`` in the current one has ``source``,
``entry``, ``signature``, ``constants``, ``options``, ``stubs``, ``sm``. ``out.ptx`` and ``out.json`` (name, shared
memory) are written where it compiles. Whatever Triton raises ends the process with status 1 and its words. The
assembler is left to the caller: its refusals are the interesting ones.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class _Stub(ModuleType):
    """Stands for a module that the kernels' file imports and the compiler does without."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stub(f"{self.__name__}.{name}")

    def __call__(self, *given: Any, **_named: Any) -> Any:
        """As a decorator it leaves a function as it is."""
        return given[0] if len(given) == 1 and callable(given[0]) else self


def main(folder: str) -> int:
    """Compile the job of the current folder."""
    sys.path.insert(0, folder)
    job: dict[str, Any] = json.loads(Path("job.json").read_text(encoding="utf-8"))
    for name in job["stubs"]:
        sys.modules[name] = _Stub(name)
    kernel = getattr(_loaded(Path(job["source"])), job["entry"])
    compiled = _compiled(kernel, job)
    Path("out.ptx").write_text(compiled.asm["ptx"], encoding="utf-8")
    Path("out.json").write_text(json.dumps({"name": compiled.metadata.name, "shared": int(compiled.metadata.shared)}))
    return 0


def _loaded(path: Path) -> ModuleType:
    sys.path.insert(1, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _compiled(kernel: Any, job: dict[str, Any]) -> Any:
    triton = importlib.import_module("triton")
    nvidia = importlib.import_module("triton.backends.nvidia.compiler")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", int(job["sm"]), 32)
    nvidia.CUDABackend.make_cubin = lambda *_given: b""
    source = importlib.import_module("triton.compiler").ASTSource(
        fn=kernel, signature=job["signature"], constexprs=job["constants"]
    )
    return triton.compile(source, target=target, options=job["options"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
