"""CUDA toolkits that are installed on this machine, outside of any container."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_VERSION = re.compile(r"release [0-9.]+, V(?P<version>[0-9.]+)")
_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class InstalledToolkit:
    """An ``nvcc`` and what it says of itself; ``version`` is empty when it does not run."""

    nvcc: Path
    version: str


def installed_toolkits(places: Path = Path("/usr/local")) -> tuple[InstalledToolkit, ...]:
    """Every ``nvcc`` on PATH or in a ``cuda*`` folder of ``places``, each real file once."""
    on_path = shutil.which("nvcc")
    found = [Path(on_path)] if on_path else []
    found.extend(sorted(places.glob("cuda*/bin/nvcc")))
    unique = {nvcc.resolve(): nvcc for nvcc in reversed(found)}
    return tuple(InstalledToolkit(nvcc, _version(nvcc)) for nvcc in sorted(unique.values()))


def _version(nvcc: Path) -> str:
    try:
        told = subprocess.run(
            [str(nvcc), "--version"], capture_output=True, text=True, timeout=_TIMEOUT, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    match = _VERSION.search(told)
    return match["version"] if match else ""
