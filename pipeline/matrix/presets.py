"""Servers that many bundles carry: how each is started, and what answers when it is ready; `smoke.NAME.preset`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.matrix.nodes import Entry, ListNode, MapNode, Node, ScalarNode

if TYPE_CHECKING:
    from pipeline.model.lane import Position

_ADDRESS = ("--host", "{host}", "--port", "{port}")


@dataclass(frozen=True, slots=True)
class Preset:
    """What a preset says where the file does not. ``ready_timeout`` are seconds: a server that compiles takes long."""

    command: tuple[str, ...]
    readiness: tuple[str, ...]
    device_arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ready_timeout: int = 120


PRESETS: dict[str, Preset] = {
    # llama.cpp, tools/server/README.md: /health is 503 while it loads. An unknown device ends the server at once.
    "llama-server": Preset(
        ("bin/llama-server", "-m", "{model}", *_ADDRESS, "--offline", "-c", "512", "-np", "1", "{device}"),
        ("/health",),
        {"cpu": ("-ngl", "0"), "cuda": ("-ngl", "all", "--fit", "off", "-dev", "CUDA0")},
    ),
    # mesh-llm, README.md: starts llama-server and rpc-server itself; its API listens on loopback and has no /health.
    "mesh-llm": Preset(("bin/mesh-llm", "--model", "{model}", "--port", "{port}"), ("/v1/models",), {}, 180),
    # MLC LLM, docs/deploy/rest: `mlc_llm serve MODEL`; compiles its model library at the first start.
    "mlc-llm": Preset(
        ("bin/mlc_llm", "serve", "{model}", *_ADDRESS, "--mode", "interactive", "{device}"),
        ("/v1/models",),
        {"cpu": ("--device", "cpu"), "cuda": ("--device", "cuda")},
        600,
    ),
    # vLLM, "OpenAI-Compatible Server": /health is 200 when the engine answers; kernels and graphs come before that.
    "vllm": Preset(
        ("bin/vllm", "serve", "{model}", *_ADDRESS, "--served-model-name", "{model}", "--max-model-len", "512"),
        ("/health",),
        {},
        900,
    ),
    # Whatever speaks OpenAI's API: that it lists its model is the one thing that all of them do.
    "openai": Preset(("bin/server", "--model", "{model}", *_ADDRESS), ("/health", "/v1/models"), {}, 300),
}


def with_preset(parts: dict[str, Node]) -> dict[str, Node]:
    """The settings with what the preset adds to them, its ``arguments`` behind the command; unchanged without one."""
    named = parts.get("preset")
    name = named.value if isinstance(named, ScalarNode) else None
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if named is None or preset is None:
        return parts
    where = named.position
    more = parts["arguments"].items if isinstance(parts.get("arguments"), ListNode) else ()  # type: ignore[union-attr]
    given: dict[str, Node] = {
        "command": ListNode(where, (*_words(preset.command, where).items, *more)),
        "readiness": _words(preset.readiness, where),
        "ready_timeout": ScalarNode(where, preset.ready_timeout, str(preset.ready_timeout)),
    }
    if preset.device_arguments and "command" not in parts:
        entries = (Entry(device, where, _words(words, where)) for device, words in preset.device_arguments.items())
        given["device_arguments"] = MapNode(where, tuple(entries))
    return {**given, **{key: node for key, node in parts.items() if key not in {"preset", "arguments"}}}


def _words(words: tuple[str, ...], where: Position) -> ListNode:
    return ListNode(where, tuple(ScalarNode(where, word, word) for word in words))
