"""For which Python and machine a lock file is resolved, and through which network."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands.options import environment
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.inventory.lock_files import ReadLock
    from pipeline.inventory.source import Source
    from pipeline.rules.declaration import Declaration, HostFloor

_PIN_IT = "pin it, as `pip freeze` (of an installation) or `uv pip compile --generate-hashes` does"


def add_lock_options(parser: argparse.ArgumentParser) -> None:
    """``--python X.Y`` and ``--platform``."""
    parser.add_argument(
        "--python", metavar="X.Y", type=_python, help="a lock file's wheels are for this Python (default: this one)"
    )
    parser.add_argument(
        "--platform", choices=("x86_64", "aarch64"), help="and for this machine (default: the lane's, or this one)"
    )


def _python(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (text.isascii() and major.isdigit() and minor.isdigit() and len(text) < 8):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version of Python such as 3.12")
    return int(major), int(minor)


def lock_reader(
    arguments: argparse.Namespace,
    paths: Sequence[Path | Source],
    declaration: Declaration | None,
    host: HostFloor | None,
) -> ReadLock | None:
    """How lock files are resolved; none where no path can be one, for most audits need no network.

    ``UsageError`` for a file of requirements that pins none of them.
    """
    from pipeline.inventory.lock_files import may_be_lock, pins_nothing

    for path in paths:
        if isinstance(path, Path) and pins_nothing(path):
            raise UsageError(f"{path} pins nothing: which wheels it stands for is not said", remedy=_PIN_IT)
    if not any(isinstance(path, Path) and may_be_lock(path) for path in paths):
        return None
    from pipeline.commands.build_settings import settings_for
    from pipeline.environments.resolve import LockSettings, read_locked
    from pipeline.environments.wheels import Installer

    host = host or (declaration.host if declaration is not None else None)
    lane = declaration.platform.value if declaration is not None and declaration.platform is not None else ""
    installer = Installer(
        python=arguments.python or sys.version_info[:2],
        machine=arguments.platform or lane or os.uname().machine,
        glibc=(host.glibc.major, host.glibc.minor) if host is not None and host.glibc is not None else None,
    )
    network = settings_for(Path("matrix.yaml"), environment()).network
    return partial(read_locked, settings=LockSettings(installer, network, _talk))


def _talk(line: str) -> None:
    sys.stderr.write(f"{line}\n")
