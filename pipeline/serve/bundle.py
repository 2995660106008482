"""Smoke a bundle as it was built: unpack it, serve it, and say what came of it."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.serve.cases import FETCHED, cases_for
from pipeline.serve.diagnose import nothing_named
from pipeline.serve.expectation import expectation, tolerance
from pipeline.serve.gpu import CardWatch
from pipeline.serve.launch import compose_launch, default_settings
from pipeline.serve.model import fetched_model, generated_model
from pipeline.serve.outcome import CaseReport, SmokeReport
from pipeline.serve.smoke import Reference, Smoke
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.engine.interface import ServingEngine
    from pipeline.model.evidence import Machine
    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.cases import Case
    from pipeline.serve.diagnose import NamedError
    from pipeline.serve.model import PreparedModel

_SUFFIXES = ("tar.gz", "tgz", "tar.xz", "tar.zst", "tar.bz2", "tar", "zip", "whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where and with what a bundle is smoked.

    ``machine`` says by its ``device`` and ``uuid`` on what; ``workspace`` is an existing folder for the unpacked files,
    which are removed again; ``cache`` keeps models, ``log`` what the server printed. ``environment`` is this process's,
    for the child that watches a GPU's memory. ``named_in`` finds the CUDA error in a line of the log; ``note`` is told
    the name of each case that begins.
    """

    machine: Machine
    engine: ServingEngine
    environment: Mapping[str, str]
    workspace: Path
    cache: Path
    log: Path
    image: str | None = None
    lane: str = ""
    named_in: Callable[[str], NamedError | None] = nothing_named
    note: Callable[[str], None] = lambda _case: None


@dataclass(frozen=True, slots=True)
class _Unpacked:
    """An unpacked bundle, a folder for what is beside it, and who watches the card."""

    root: Path
    scratch: Path
    watch: CardWatch | None


def smoke_bundle(
    bundle: Path, sha256: Callable[[], str], settings: SmokeSettings | None, place: Place, models: tuple[str, ...] = ()
) -> SmokeReport:
    """Smoke ``bundle``, whose digest ``sha256`` tells once it is asked.

    ``settings`` of ``None`` asks for the usual ones of a bundle with a llama-server; ``models`` serves these of the
    generated models instead of what the settings name.
    ``CorruptInput`` for a hostile bundle or a model of another digest, ``UsageError`` when it cannot be said how to
    serve, ``InfrastructureError`` for a full disk or a model that cannot be had. Everything else is in the report.
    """
    # Not a daemon: an interpreter that ends in the middle of an import of native code crashes (seen: SIGSEGV).
    threading.Thread(target=_load_client).start()
    with ExitStack() as open_until_done:
        digest = open_until_done.enter_context(ThreadPoolExecutor(1)).submit(sha256)
        scratch = Path(open_until_done.enter_context(tempfile.TemporaryDirectory(prefix="smoke-", dir=place.workspace)))
        watch = _watch(place, open_until_done)
        into = scratch / "bundle"
        into.mkdir()
        root = unpack(bundle, into)
        settings = settings or default_settings(root)
        cases = cases_for(models or settings.models) if models or settings.model.url is None else (FETCHED,)
        reports: list[CaseReport] = []
        for case in cases:
            place.note(case.name)
            smoke = _smoke(case, settings, place, _Unpacked(root, scratch, watch))
            reports.append(smoke.run())
        ready_at = smoke.ready_at
    return SmokeReport(
        path=str(bundle),
        sha256=digest.result(),
        size=_size(bundle),
        format=_format(bundle),
        machine=place.machine,
        cases=tuple(reports),
        seconds_after_ready=None if ready_at is None else time.monotonic() - ready_at,
    )


def _watch(place: Place, open_until_done: ExitStack) -> CardWatch | None:
    """Whoever asks NVML is started first: the driver takes its time."""
    if place.machine.device != "cuda" or place.machine.uuid is None:
        return None
    return open_until_done.enter_context(CardWatch(place.machine.uuid, place.environment))


def _smoke(case: Case, settings: SmokeSettings, place: Place, unpacked: _Unpacked) -> Smoke:
    recipe = case.recipe
    model = fetched_model(settings.model, place.cache) if recipe is None else generated_model(recipe, place.cache)
    launch = compose_launch(
        settings,
        place.machine,
        bundle=unpacked.root,
        model=_under_own_name(model.path, unpacked.scratch),
        log=_log_of(case, place.log),
        image=place.image,
        lane=place.lane,
        extra=case.words,
    )
    reference = _reference(case, model)
    return Smoke(place.engine, launch, settings, case, model, reference, unpacked.watch, place.named_in)


def _log_of(case: Case, log: Path) -> Path:
    """The first model's log has the name that was given; every other one its own beside it."""
    return log if case.name in {"tiny", FETCHED.name} else log.with_name(f"{log.stem}-{case.name}{log.suffix}")


def _reference(case: Case, model: PreparedModel) -> Reference | None:
    recipe = case.recipe
    if recipe is None:
        return None
    return Reference(
        lambda: [expectation(recipe, model.path, model.sha256, prompt) for prompt in case.prompts],
        tolerance(recipe, case.words),
    )


def _under_own_name(model: Path, scratch: Path) -> Path:
    """The model under a name that no other server of this machine has: an answer in that name is from ours."""
    folder = scratch / "model"
    folder.mkdir(mode=0o755, exist_ok=True)
    own = folder / f"{model.stem}-{secrets.token_hex(4)}{model.suffix}"
    try:
        own.hardlink_to(model)
    except OSError:  # another file system, or one without links
        shutil.copyfile(model, own)
    return own.resolve()


def _load_client() -> None:
    """Import what asks while the bundle is unpacked and its server loads: it takes half a second."""
    for module in ("requests", "openai.resources.chat.completions"):
        import_module(module)


def _size(bundle: Path) -> int:
    files = bundle.rglob("*") if bundle.is_dir() else [bundle]
    return sum(path.lstat().st_size for path in files if path.is_file())


def _format(bundle: Path) -> str:
    if bundle.is_dir():
        return "directory"
    return next((suffix for suffix in _SUFFIXES if bundle.name.endswith(f".{suffix}")), "elf")
