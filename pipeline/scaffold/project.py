"""What a repository is, as its own files say: its kind, a name and version fit for a file name, a CMake target."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN_VERSION = "0.0.0"
"""What stands for a version that the files do not tell."""

_MOST_BYTES = 1 << 20
_LONGEST = 60
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}"
_REPOSITORY = re.compile(
    r"(?:https://|git@|ssh://git@)github\.com[:/]([A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}?)(?:\.git)?/?", re.ASCII
)


class Kind(StrEnum):
    """What is scaffolded for."""

    CPP = "cpp"
    WHEEL = "wheel"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Project:
    """``name`` and ``version`` can be part of a file name; ``target`` is what CMake builds; ``seen`` says from where.

    ``repository`` is OWNER/NAME on GitHub, empty where the clone does not tell.
    """

    kind: Kind
    name: str
    version: str
    target: str = ""
    ggml: bool = False
    repository: str = ""
    dockerfile: bool = False
    seen: tuple[str, ...] = ()


def look_at(folder: Path, kind: Kind | None) -> Project:
    """What ``folder`` holds; ``kind`` overrules what its files say. ``UsageError`` where they say nothing."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="name the top of the repository")
    cmake, toml = _text(folder / "CMakeLists.txt"), _text(folder / "pyproject.toml")
    dockerfile = (folder / "Dockerfile").is_file()
    told, seen = _told(cmake, toml, dockerfile=dockerfile)
    chosen = kind or told
    if chosen is None:
        raise UsageError(
            f"{folder} has no CMakeLists.txt, pyproject.toml or Dockerfile to tell what it is",
            remedy="say --kind cpp, wheel or audit",
        )
    named = folder.resolve().name
    project = Project(chosen, tame(named), UNKNOWN_VERSION, repository=_repository(folder), dockerfile=dockerfile)
    if chosen is Kind.WHEEL:
        project = _with_toml(project, toml)
    elif cmake:
        project = _with_cmake(project, cmake, ggml=(folder / "ggml").is_dir() or "GGML_CUDA" in cmake)
    chosen_by = f"--kind {kind}" if kind is not None else f"so this is {_called(chosen)}"
    return replace(project, target=project.target or project.name, seen=(*seen, chosen_by))


def tame(text: str, otherwise: str = "product") -> str:
    """``text`` as letters, digits, dots, underscores and dashes; ``otherwise`` where nothing of it is left."""
    kept = re.sub(r"[^A-Za-z0-9._]+", "-", text[: 4 * _LONGEST]).strip("-._")
    return kept[:_LONGEST].rstrip("-._") or otherwise


def _called(kind: Kind) -> str:
    return {Kind.CPP: "a C++ project", Kind.WHEEL: "a project of wheels", Kind.AUDIT: "an image to audit"}[kind]


def _told(cmake: str, toml: str, *, dockerfile: bool) -> tuple[Kind | None, tuple[str, ...]]:
    """The kind by the files, and what was seen of them; a pyproject.toml without a project is settings of tools."""
    wheel = "name" in _project_table(toml) or "dynamic" in _project_table(toml)
    seen = tuple(
        name
        for name, there in (
            ("CMakeLists.txt", bool(cmake)),
            ("pyproject.toml with a project", wheel),
            ("pyproject.toml without a project", bool(toml) and not wheel),
            ("Dockerfile", dockerfile),
        )
        if there
    )
    if wheel:
        return Kind.WHEEL, seen
    if cmake:
        return Kind.CPP, seen
    return (Kind.AUDIT if dockerfile else None), seen


def _text(path: Path) -> str:
    """The beginning of a file; empty where there is none that can be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _project_table(toml: str) -> dict[str, object]:
    try:
        table = tomllib.loads(toml).get("project")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _with_toml(project: Project, toml: str) -> Project:
    table = _project_table(toml)
    name, version = table.get("name"), table.get("version")
    return replace(
        project,
        name=tame(name) if isinstance(name, str) else project.name,
        version=tame(version, UNKNOWN_VERSION) if isinstance(version, str) else UNKNOWN_VERSION,
    )


def _with_cmake(project: Project, cmake: str, *, ggml: bool) -> Project:
    """``project(NAME VERSION x)`` and the programs that ``add_executable`` names; variables are nobody's name."""
    code = re.sub(r"#[^\n]*", "", cmake)
    called = re.search(rf'\bproject\s*\(\s*"?({_WORD})"?[\s)]', code, re.IGNORECASE)
    version = re.search(rf'\bproject\s*\([^)]*?\bVERSION\s+"?({_WORD})"?[\s)]', code, re.IGNORECASE)
    programs = re.findall(rf"\badd_executable\s*\(\s*({_WORD})[\s)]", code, re.IGNORECASE)
    servers = [name for name in programs if "server" in name.lower()]
    target = next(iter([*servers, *programs]), "llama-server" if ggml else "")
    return replace(
        project,
        name=tame(called[1]) if called else project.name,
        version=tame(version[1], UNKNOWN_VERSION) if version else UNKNOWN_VERSION,
        target=target,
        ggml=ggml,
    )


def _repository(folder: Path) -> str:
    """OWNER/NAME of the clone's origin, if that is on GitHub."""
    section = re.search(r'\[remote "origin"\]([^\[]*)', _text(folder / ".git" / "config"))
    url = re.search(r"^\s*url\s*=\s*(\S+)\s*$", section[1], re.MULTILINE) if section else None
    found = _REPOSITORY.fullmatch(url[1]) if url else None
    return found[1] if found else ""
