"""The house as docs/architecture.md draws it: who may import whom, and which doors may touch the world."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parent.parent / "pipeline"

# Room → the rooms it may import, lower floors first; a room may always import itself, errors and the version.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "binary": set(),
    "digest": set(),
    "reproducible": set(),
    "resources": set(),
    "model": set(),
    "unpack": {"model"},
    "policy": {"model"},
    "formats": {"model", "binary"},
    "inventory": {"formats", "model", "binary"},
    "matrix": {"model", "policy", "formats"},
    "rules": {"formats", "policy", "model"},
    "environments": {"build", "inventory", "formats", "model", "binary"},
    "audit": {"environments", "rules", "inventory", "formats", "policy", "model"},
    "diff": {"audit", "rules", "formats", "policy", "model"},
    "explain": {"policy", "model", "rules"},
    "engine": {"model"},
    "machine": {"model"},
    "gpu": {"audit", "rules", "inventory", "formats", "policy", "model", "binary", "machine"},
    "rehearse": {"gpu", "rules", "inventory", "formats", "policy", "model", "binary"},
    "jit": {"rehearse", "rules", "formats", "policy", "model", "binary", "unpack"},
    "build": {"engine", "matrix", "model", "reproducible", "resources", "unpack"},
    "serve": {"engine", "model", "machine", "unpack"},
    "evidence": {"model", "policy"},
    "gate": {"model", "policy", "evidence"},
    "compat": {"model", "gate"},
    "pick": {"audit", "formats", "policy", "model", "machine"},
    "attest": {"model", "gate", "evidence"},
    "scaffold": {"matrix", "workflow", "policy", "model", "resources"},
    "publishers": {
        "model",
        "gate",
        "compat",
        "attest",
        "pick",
        "report",
        "policy",
        "formats",
        "binary",
        "reproducible",
        "unpack",
    },
    "workflow": {"matrix", "model", "policy"},
    "report": {
        *("model", "matrix", "gate", "audit", "diff", "explain", "formats", "rules", "policy", "serve", "gpu", "jit"),
        "pick",
        "resources",
    },
}
UPPER = {"stages", "commands", "cli", "__main__", "__init__"}

# Third-party name → the rooms it stays in.
STAYS_IN: dict[str, set[str]] = {
    "docker": {"engine"},
    "jinja2": {"build", "report", "workflow"},
    "openai": {"serve"},
    "httpx": {"serve"},
    "gguf": {"serve"},
    "numpy": {"serve"},
    "yaml": {"matrix", "workflow"},
    "packaging": {"environments"},
    "pypi_simple": {"build", "publishers"},
    "twine": {"publishers"},
    "requests": {"build", "serve", "publishers", "engine"},
    "rich": {"report", "commands"},
    "backports": {"formats", "unpack"},
    "lz4": {"formats"},
    "cyclonedx": {"attest"},
    "packageurl": {"attest"},
    "securesystemslib": {"evidence"},
    "cryptography": {"evidence"},
    "sigstore": {"evidence"},
    "multi_demangle": {"formats"},
    "isal": {"formats", "inventory"},
}
# Door → the rooms that may use it.
DOORS: dict[str, set[str]] = {
    "os.environ": {"commands"},
    "subprocess": {"engine", "build", "gpu", "machine", "rehearse", "serve", "commands"},
    "socket": {"engine", "serve"},
}
LONGEST_MODULE = 320


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_rooms(path: Path) -> set[str]:
    own = {name.split(".")[1] for name in imports(path) if name.startswith("pipeline.")}
    return own - {room_of(path), "errors", "digest", "__version__"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_lower_floors(path: Path) -> None:
    room = room_of(path)
    if room in UPPER:
        return
    assert room in MAY_IMPORT, f"{room} is not in the house: say in docs/architecture.md what it is for"
    assert imported_rooms(path) <= MAY_IMPORT[room]


def test_imports_inside_a_room_flow_one_way() -> None:
    """No module leads back to itself, by types or by imports inside functions either."""
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in modules()}
    rooms = {name: path for name, path in names.items() if not name.endswith("__init__")}
    inside = {name: _modules_named(path, room_of(path), rooms) - {name} for name, path in rooms.items()}
    while leaves := {name for name, needed in inside.items() if not needed & inside.keys()}:
        inside = {name: needed for name, needed in inside.items() if name not in leaves}
    assert not inside, "these import each other, or what does"


def _modules_named(path: Path, room: str, known: dict[str, Path]) -> set[str]:
    """The modules of its own room that a module imports, whole or names of them."""
    named = {name for full in imports(path) for name in (full, full.rpartition(".")[0]) if name in known}
    return {name for name in named if room_of(known[name]) == room}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_third_party_names_stay_in_their_rooms(path: Path) -> None:
    for name in imports(path):
        allowed = STAYS_IN.get(name.split(".")[0])
        assert allowed is None or room_of(path) in allowed, f"{name} does not belong in {room_of(path)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_world_is_touched_only_at_the_doors(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for door, allowed in DOORS.items():
        used = "os.environ" in text if door == "os.environ" else door in {name.split(".")[0] for name in imports(path)}
        mentioned_only = door == "os.environ" and "``os.environ``" in text and "os.environ[" not in text
        assert not used or mentioned_only or room_of(path) in allowed, f"{door} does not belong in {room_of(path)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_says_what_it_is_for_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= LONGEST_MODULE


def test_every_room_is_in_the_architecture_document() -> None:
    document = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    missing = [room for room in {room_of(path) for path in modules()} - UPPER if f"`{room}" not in document]
    assert not missing
