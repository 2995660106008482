"""The section ``jit_sources`` of matrix.yaml: its form, and its entries as values of the model."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.matrix.containers import Items, Key, Named, Record
from pipeline.matrix.kinds import Choice, Integer, Seconds, Text
from pipeline.matrix.mistakes import Mistake
from pipeline.matrix.nodes import ListNode, MapNode, Node, ScalarNode
from pipeline.matrix.sections import INSIDE, NAME, SIZE, TOOLKIT, VARIABLE, WORD
from pipeline.model.jit import JitLanguage, JitOutput, JitSource
from pipeline.model.lane import PrebuiltWheel, Source
from pipeline.model.size import parse_size
from pipeline.model.versions import ToolkitVersion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_FILES = Text("a relative path without '..', * and ? allowed", "kernels/*.cu", INSIDE.pattern)
_VALUE = Text("a value in quotes", "128", r"[^\0\r\n]*")
_ONLY = {
    JitLanguage.CUDA: ("include", "headers", "defines", "instances", "dynamic_shared", "output", "arch_suffix"),
    JitLanguage.TRITON: ("triton", "entry", "signature", "constants", "stubs"),
    JitLanguage.PTX: ("dynamic_shared",),
}
_NEEDED = {JitLanguage.CUDA: (), JitLanguage.TRITON: ("triton", "entry", "signature"), JitLanguage.PTX: ()}
_ALWAYS = ("language", "files", "inside", "toolkits", "options", "from_sm", "up_to_sm", "time_limit", "memory_limit")
_SECONDS, _MEMORY, _NO_SM = 60.0, 16 << 30, 999
_SM = Integer("an SM number such as 75", 10, 999)

JIT_SOURCE = Record(
    "a JIT source",
    (
        Key("language", Choice(tuple(JitLanguage)), "What it is written in: who compiles it.", required=True),
        Key("files", Items(_FILES, least=1, unique=True), "Files, each compiled by itself.", required=True),
        Key("inside", Choice(("bundle",)), "Where the files lie: in the bundle (default: beside matrix.yaml)."),
        Key(
            "toolkits",
            Items(TOOLKIT, least=1, unique=True),
            "CUDA versions whose compilers users have (default: the lane's; for Triton its own; for PTX the driver's).",
        ),
        Key("include", Items(INSIDE, unique=True), "Folders with headers of the product."),
        Key(
            "headers",
            Items(Choice(("cudart", "cccl")), unique=True),
            "NVIDIA's headers beside the product (default cudart: cuda_fp16.h and others; cccl: CUB, Thrust).",
        ),
        Key("defines", Named("macros", _VALUE, VARIABLE), "Macros, as the product defines them."),
        Key("options", Items(WORD), "Options of NVRTC (--use_fast_math), of Triton (num_warps=8), of ptxas (-O1)."),
        Key(
            "instances", Items(WORD, unique=True), "Template instances that NVRTC is asked for: attention<float, 128>."
        ),
        Key("triton", NAME, "Name of an entry of 'sources': the Triton wheel."),
        Key("entry", Text("a function's name", "attention", VARIABLE), "The kernel function in the file."),
        Key(
            "signature",
            Named("parameters", Text("a Triton type", "*fp16", r"\*?[a-z0-9]+|constexpr"), VARIABLE),
            "Type of each parameter: '*fp16', i32, constexpr.",
        ),
        Key("constants", Named("constants", _VALUE, VARIABLE), "Values of the parameters that are constexpr."),
        Key(
            "stubs", Items(Text("a module", "torch", r"[A-Za-z_][A-Za-z0-9_.]*"), unique=True), "Imports to do without."
        ),
        Key("output", Choice(tuple(JitOutput)), "What the driver is given: cubin (default) or ptx."),
        Key("arch_suffix", Choice(("a", "f")), "Compile for sm_90a and its like on GPUs that have such a target."),
        Key("dynamic_shared", SIZE, "Shared memory that a launch asks for, for each block."),
        Key("from_sm", _SM, "The product compiles it from this SM on."),
        Key("up_to_sm", _SM, "The product compiles it up to this SM."),
        Key("time_limit", Seconds(), "Processor seconds that one compilation may take (default 60)."),
        Key("memory_limit", SIZE, "Address space that one compilation may take (default 16 GiB)."),
    ),
)


class NoJitSource(Exception):
    """A JIT source that the schema accepts and that still means nothing."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def read_jit_source(name: str, parts: dict[str, Node], folder: Path, sources: Mapping[str, Source]) -> JitSource:
    """The entry as a value; ``NoJitSource`` where keys do not go together, or a file is not there."""
    language = JitLanguage(_word(parts["language"]))
    _check_keys(language, parts)
    inside = "inside" in parts
    files = _words(parts["files"]) if inside else _found(parts["files"], folder)
    include = _words(parts.get("include"))
    return JitSource(
        name=name,
        language=language,
        files=files,
        folder=None if inside else folder,
        content="" if inside else content_of(folder, files, include),
        toolkits=tuple(ToolkitVersion(version) for version in _words(parts.get("toolkits"))),
        include=include,
        headers=_words(parts["headers"]) if "headers" in parts else ("cudart",),
        defines=_table(parts.get("defines")),
        options=_words(parts.get("options")),
        instances=_words(parts.get("instances")),
        entry=_word(parts["entry"]) if "entry" in parts else "",
        signature=_table(parts.get("signature")),
        constants=_table(parts.get("constants")),
        stubs=_words(parts.get("stubs")),
        triton=_wheel(parts["triton"], sources) if "triton" in parts else None,
        output=JitOutput(_word(parts["output"])) if "output" in parts else JitOutput.CUBIN,
        arch_suffix=_word(parts["arch_suffix"]) if "arch_suffix" in parts else "",
        dynamic_shared=_size(parts, "dynamic_shared", 0),
        memory_limit=_size(parts, "memory_limit", _MEMORY),
        from_sm=int(_number(parts["from_sm"])) if "from_sm" in parts else 0,
        up_to_sm=int(_number(parts["up_to_sm"])) if "up_to_sm" in parts else _NO_SM,
        time_limit=_number(parts["time_limit"]) if "time_limit" in parts else _SECONDS,
    )


def content_of(folder: Path, files: tuple[str, ...], include: tuple[str, ...]) -> str:
    """Digest of the files and of everything in the folders with headers: what evidence is about."""
    paths = {name: folder / name for name in files}
    for name in include:
        paths |= {str(path.relative_to(folder)): path for path in (folder / name).rglob("*") if path.is_file()}
    lines = [f"{name} {file_sha256(path)}" for name, path in sorted(paths.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _check_keys(language: JitLanguage, parts: Mapping[str, Node]) -> None:
    for key, node in parts.items():
        if key not in _ALWAYS and key not in _ONLY[language]:
            raise NoJitSource(Mistake(node.position, f"{key!r} means nothing for {language}", "remove it"))
    for key in _NEEDED[language]:
        if key not in parts:
            where = parts["language"].position
            raise NoJitSource(Mistake(where, f"a {language} source has no {key!r}", f"add {key}: …"))
    signature, constants = _table(parts.get("signature")), _table(parts.get("constants"))
    open_ones = {name for name, kind in signature.items() if kind == "constexpr"} ^ set(constants)
    if open_ones:
        named = ", ".join(sorted(open_ones))
        message = f"{named}: constexpr in 'signature' and a value in 'constants' go together"
        raise NoJitSource(Mistake(parts["signature"].position, message, "give each of them both"))


def _found(node: Node, folder: Path) -> tuple[str, ...]:
    names: list[str] = []
    for pattern in _words(node):
        matches = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not matches:
            raise NoJitSource(Mistake(node.position, f"no file {pattern}", f"correct the path below {folder}"))
        names += [str(path.relative_to(folder)) for path in matches]
    return tuple(dict.fromkeys(names))


def _wheel(node: Node, sources: Mapping[str, Source]) -> PrebuiltWheel:
    source = sources.get(_word(node))
    if not isinstance(source, PrebuiltWheel):
        raise NoJitSource(
            Mistake(node.position, f"{_word(node)!r} is no wheel in 'sources'", "add it, pinned by digest")
        )
    return source


def _size(parts: Mapping[str, Node], key: str, otherwise: int) -> int:
    return parse_size(_word(parts[key])) if key in parts else otherwise


def _word(node: Node) -> str:
    if isinstance(node, ScalarNode) and isinstance(node.value, str):
        return node.value
    raise TypeError(f"{node.position}: not checked to be text")


def _number(node: Node) -> float:
    if isinstance(node, ScalarNode) and isinstance(node.value, int | float):
        return float(node.value)
    raise TypeError(f"{node.position}: not checked to be a number")


def _words(node: Node | None) -> tuple[str, ...]:
    return tuple(_word(item) for item in node.items) if isinstance(node, ListNode) else ()


def _table(node: Node | None) -> dict[str, str]:
    return dict(_entries(node)) if isinstance(node, MapNode) else {}


def _entries(node: MapNode) -> Iterator[tuple[str, str]]:
    return ((entry.key, _word(entry.value)) for entry in node.entries)
