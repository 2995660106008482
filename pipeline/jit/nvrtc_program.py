"""Compiles CUDA C++ with one NVRTC, as a process of its own: `python -I -S nvrtc_program.py LIBRARY`.

``job.json`` in the current folder has ``name``, ``source``, ``options`` and ``instances``; ``out.ptx`` is written where
it compiles. The compiler's words go to stdout. Status 0: compiled; 3: refused; 4: NVRTC itself failed.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

_COMPILED, _REFUSED, _FAILED = 0, 3, 4
_BAD_OPTION, _COMPILATION, _NAME = 5, 6, 10
"""nvrtcResult: NVRTC_ERROR_INVALID_OPTION, NVRTC_ERROR_COMPILATION, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID."""


def main(library: str) -> int:
    """Compile the job of the current folder."""
    for builtins in sorted(Path(library).parent.glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(builtins))  # NVRTC opens it by name only, which finds what is loaded already
    nvrtc = ctypes.CDLL(library)
    job: dict[str, Any] = json.loads(Path("job.json").read_text(encoding="utf-8"))
    program = ctypes.c_void_p()
    source = Path(job["source"]).read_bytes()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, job["name"].encode(), 0, None, None):
        return _FAILED
    for instance in job["instances"]:
        if nvrtc.nvrtcAddNameExpression(program, instance.encode()):
            return _FAILED
    options = [option.encode() for option in job["options"]]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    sys.stdout.write(_text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode(errors="replace"))
    if status:
        return _REFUSED if status in {_BAD_OPTION, _COMPILATION, _NAME} else _FAILED
    Path("out.ptx").write_bytes(_text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))
    return _COMPILED


def _text(program: ctypes.c_void_p, size_of: Any, get: Any) -> bytes:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    get(program, buffer)
    return buffer.value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
