"""The process in which a driver's own JIT library compiles one text, called like ptxas and answering like it.

``jit_child.py LIBRARY -v -arch sm_61 -o OUT TEXT``: the library's interface is that of NVIDIA's PTX Compiler library
(nvPTXCompiler.h). It may crash or hang; whoever started this process has set its limits. Run without site, imports
nothing of this package.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

_REFUSED = 255  # as ptxas answers


def main(library: str, _verbose: str, _arch: str, arch: str, _output: str, output: str, text: str) -> int:
    """Compile; the library's words go to stdout."""
    compiler = ctypes.CDLL(library)
    content = Path(text).read_bytes() + b"\0"
    handle = ctypes.c_void_p()
    if compiler.nvPTXCompilerCreate(ctypes.byref(handle), ctypes.c_size_t(len(content)), content):
        sys.stdout.write("ptxas fatal   : Internal error: the JIT library does not start\n")
        return _REFUSED
    wanted = [f"--gpu-name={arch}".encode(), b"--verbose"]
    refused = compiler.nvPTXCompilerCompile(handle, len(wanted), (ctypes.c_char_p * len(wanted))(*wanted))
    for log in ("ErrorLog", "InfoLog"):
        size = _size(compiler, handle, log)
        words = ctypes.create_string_buffer(size + 1)
        getattr(compiler, f"nvPTXCompilerGet{log}")(handle, words)
        sys.stdout.write(words.value.decode("utf-8", "replace") + "\n")
    if refused:
        return _REFUSED
    program = ctypes.create_string_buffer(_size(compiler, handle, "CompiledProgram"))
    compiler.nvPTXCompilerGetCompiledProgram(handle, program)
    Path(output).write_bytes(program.raw)
    return 0


def _size(compiler: ctypes.CDLL, handle: ctypes.c_void_p, what: str) -> int:
    size = ctypes.c_size_t(0)
    getattr(compiler, f"nvPTXCompilerGet{what}Size")(handle, ctypes.byref(size))
    return size.value


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
