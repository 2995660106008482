"""Serve a GGUF with the llama.cpp server inside an unpacked ``xllamacpp`` wheel; llama-server's flags."""

from __future__ import annotations

import argparse
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> int:
    """Start the server and keep it until SIGTERM or SIGINT; 1 when the wheel is not the one that was asked for."""
    arguments = _arguments()
    sys.path.insert(0, str(arguments.bundle))
    xllamacpp = import_module("xllamacpp")
    if not Path(xllamacpp.__file__ or "").is_relative_to(arguments.bundle):
        print(f"error: xllamacpp came from {xllamacpp.__file__}", file=sys.stderr)  # noqa: T201
        return 1
    ended = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ended)
    parameters = _parameters(xllamacpp.CommonParams(), arguments)
    _choose_attention(parameters, xllamacpp.llama_flash_attn_type, arguments.flash_attn)
    server = xllamacpp.Server(parameters)
    print(f"server is listening on {server.listening_address}", flush=True)  # noqa: T201
    signal.sigwait(ended)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True, help="folder with the xllamacpp package")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("-c", "--ctx-size", type=int, default=512)
    parser.add_argument("-np", "--parallel", type=int, default=1)
    parser.add_argument("-b", "--batch-size", type=int, default=2048)
    parser.add_argument("-ub", "--ubatch-size", type=int, default=512)
    parser.add_argument("-fa", "--flash-attn", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("-ngl", "--gpu-layers", type=int, default=0)
    return parser.parse_args()


def _parameters(parameters: object, arguments: argparse.Namespace) -> object:
    values = {
        "hostnames": [arguments.host],
        "port": arguments.port,
        "n_ctx": arguments.ctx_size,
        "n_parallel": arguments.parallel,
        "n_batch": arguments.batch_size,
        "n_ubatch": arguments.ubatch_size,
        "n_gpu_layers": arguments.gpu_layers,
        "warmup": True,
        "ui": False,
    }
    for name, value in values.items():
        setattr(parameters, name, value)
    parameters.model.path = arguments.model  # type: ignore[attr-defined]
    return parameters


def _choose_attention(parameters: Any, kinds: Any, word: str) -> None:
    kind = {"auto": "AUTO", "on": "ENABLED", "off": "DISABLED"}[word]
    parameters.flash_attn_type = getattr(kinds, f"LLAMA_FLASH_ATTN_TYPE_{kind}")


if __name__ == "__main__":
    sys.exit(main())
