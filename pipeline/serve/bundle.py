"""Smoke a bundle as it was built: unpack it, serve it, and say what came of it."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.serve.diagnose import nothing_named
from pipeline.serve.launch import compose_launch, default_settings
from pipeline.serve.model import prepare_model
from pipeline.serve.outcome import SmokeReport
from pipeline.serve.smoke import Smoke
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.engine.interface import ServingEngine
    from pipeline.model.evidence import Machine
    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.diagnose import NamedError

_SUFFIXES = ("tar.gz", "tgz", "tar.xz", "tar.zst", "tar.bz2", "tar", "zip", "whl")


def smoke_bundle(
    bundle: Path,
    sha256: str,
    settings: SmokeSettings | None,
    *,
    machine: Machine,
    engine: ServingEngine,
    workspace: Path,
    cache: Path,
    log: Path,
    image: str | None = None,
    lane: str = "",
    named_in: Callable[[str], NamedError | None] = nothing_named,
) -> SmokeReport:
    """Smoke ``bundle``, whose digest is ``sha256``, where ``machine`` says by its ``device`` and ``uuid``.

    ``settings`` of ``None`` asks for the usual ones of a bundle with a llama-server. ``workspace`` is an existing
    folder for the unpacked files, which are removed again; ``cache`` keeps models, ``log`` what the server printed;
    ``named_in`` finds the CUDA error in a line of it.
    ``CorruptInput`` for a hostile bundle or a model of another digest, ``UsageError`` when it cannot be said how to
    serve, ``InfrastructureError`` for a full disk or a model that cannot be had. Everything else is in the report.
    """
    client = threading.Thread(target=_load_client, daemon=True)
    client.start()
    with tempfile.TemporaryDirectory(prefix="smoke-", dir=workspace) as scratch:
        into = Path(scratch) / "bundle"
        into.mkdir()
        root = unpack(bundle, into)
        settings = settings or default_settings(root)
        model = prepare_model(settings.model, cache)
        served = _under_own_name(model.path, Path(scratch))
        launch = compose_launch(settings, machine, bundle=root, model=served, log=log, image=image, lane=lane)
        client.join()
        smoke = Smoke(engine, launch, settings, model.expected_token, named_in)
        smoke.run()
    return SmokeReport(
        path=str(bundle),
        sha256=sha256,
        size=_size(bundle),
        format=_format(bundle),
        model_sha256=model.sha256,
        machine=machine,
        checks=tuple(smoke.checks),
        seconds_after_ready=None if smoke.ready_at is None else time.monotonic() - smoke.ready_at,
    )


def _under_own_name(model: Path, scratch: Path) -> Path:
    """The model under a name that no other server of this machine has: an answer in that name is from ours."""
    folder = scratch / "model"
    folder.mkdir(mode=0o755)
    own = folder / f"{model.stem}-{secrets.token_hex(4)}{model.suffix}"
    try:
        own.hardlink_to(model)
    except OSError:  # another file system, or one without links
        shutil.copyfile(model, own)
    return own.resolve()


def _load_client() -> None:
    """Import what asks for the token while the bundle is hashed and unpacked: it takes half a second."""
    for module in ("requests", "openai.resources.chat.completions"):
        import_module(module)


def _size(bundle: Path) -> int:
    files = bundle.rglob("*") if bundle.is_dir() else [bundle]
    return sum(path.lstat().st_size for path in files if path.is_file())


def _format(bundle: Path) -> str:
    if bundle.is_dir():
        return "directory"
    return next((suffix for suffix in _SUFFIXES if bundle.name.endswith(f".{suffix}")), "elf")
