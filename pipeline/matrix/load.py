"""A matrix file → its plan, or every mistake in it at once."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pipeline.errors import NothingExamined, UsageError
from pipeline.matrix import schema
from pipeline.matrix.definitions import Definitions, mapping, read_bundle, read_definitions, sound, text
from pipeline.matrix.ids import lane_ids, repeated, too_long
from pipeline.matrix.lanes import Row, lane_of, mistakes_in
from pipeline.matrix.mistakes import MatrixMistakes, Mistake, closest, listed
from pipeline.matrix.nodes import ListNode, MapNode, Node
from pipeline.matrix.publishers import read_publishers
from pipeline.matrix.rows import ArchWords, MatrixNode, RowMaker, rows_of
from pipeline.matrix.settings import SettingsReader
from pipeline.matrix.terms import read_terms
from pipeline.matrix.yaml_source import read_yaml
from pipeline.model.lane import Lane, Plan, Waiver
from pipeline.policy import load_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pipeline.policy import Policy

_LANE_LEVEL = ("bundle", "defaults", "flavours", "matrix")
"""Sections in which a mistake would make every lane look incomplete."""


def load_plan(path: Path, *, only: Sequence[str] = (), policy: Policy | None = None) -> Plan:
    """The lanes of ``path`` in matrix order, or those named by ``only``.

    ``MatrixMistakes`` (a ``UsageError``) carries everything wrong in the file; ``UsageError`` also for a lane that it
    does not have; ``NothingExamined`` when no lane is left.
    """
    root = read_yaml(path)
    mistakes = list(schema.MATRIX_FILE.check(root))
    if not isinstance(root, MapNode):
        raise MatrixMistakes(mistakes)
    policy = policy or load_policy()
    definitions = read_definitions(root, path.parent, policy, mistakes)
    lanes = _lanes(root, definitions, policy, mistakes)
    publishers = read_publishers(root, path.parent, definitions.base_images, mistakes)
    terms = read_terms(root, path.parent, mistakes)
    if mistakes:
        raise MatrixMistakes(mistakes)
    if not lanes:
        raise NothingExamined(f"{path}: the matrix has no lane", remedy="add an axis or an include")
    return Plan(path, _selected(lanes, only, path), publishers, terms)


def _lanes(root: MapNode, definitions: Definitions, policy: Policy, mistakes: list[Mistake]) -> list[Lane]:
    parts = mapping(root)
    reader = SettingsReader(definitions, policy, mistakes)
    if "matrix" not in parts:
        return []
    matrix = MatrixNode.of(parts["matrix"])
    maker = RowMaker(reader, root, matrix)
    maker.read_defaults()
    for name, node in matrix.settings():
        reader.read(name, node)
    known = schema.MATRIX_FILE.known
    if not all(sound(known[name].kind, parts[name]) for name in _LANE_LEVEL if name in parts) or "bundle" not in parts:
        return []
    mistakes += (too_large := list(matrix.mistakes()))
    rows = [] if too_large else rows_of(matrix, maker, ArchWords(policy), mistakes)
    mistakes += (mistake for row in rows for mistake in mistakes_in(row))
    return [] if mistakes else _named(root, rows, matrix, mistakes)


def _named(root: MapNode, rows: Sequence[Row], matrix: MatrixNode, mistakes: list[Mistake]) -> list[Lane]:
    parts = mapping(root)
    ids = lane_ids(rows, matrix.several)
    mistakes += (*repeated(rows, ids), *too_long(rows, ids))
    bundle = read_bundle(parts["bundle"])
    lanes = [lane_of(row, lane_id, bundle) for row, lane_id in zip(rows, ids, strict=True)]
    return _with_waivers(lanes, parts.get("waivers"), mistakes)


def _with_waivers(lanes: list[Lane], node: Node | None, mistakes: list[Mistake]) -> list[Lane]:
    by_id = {lane.id: lane for lane in lanes}
    for item in node.items if isinstance(node, ListNode) else ():
        parts = mapping(item)
        lane = by_id.get(text(parts["lane"]))
        if lane is None:
            message = f"a waiver for {text(parts['lane'])!r}, which is no lane of the matrix"
            mistakes.append(Mistake(parts["lane"].position, message, closest(text(parts["lane"]), by_id)))
        elif text(parts["check"]) not in lane.required:
            message = f"{lane.id} does not require {text(parts['check'])!r}"
            mistakes.append(Mistake(parts["check"].position, message, f"write one of {listed(lane.required)}"))
        elif "path" in parts and "rule" not in parts:
            mistakes.append(Mistake(parts["path"].position, "'path' without 'rule' waives nothing", "add rule: NAME"))
        else:
            by_id[lane.id] = replace(lane, waivers=(*lane.waivers, _waiver(parts)))
    return list(by_id.values())


def _waiver(parts: dict[str, Node]) -> Waiver:
    optional = {key: text(parts[key]) for key in ("rule", "path") if key in parts}
    return Waiver(**{key: text(parts[key]) for key in ("check", "reason", "owner", "expires")}, **optional)


def _selected(lanes: Sequence[Lane], only: Iterable[str], path: Path) -> tuple[Lane, ...]:
    wanted = set(only)
    unknown = sorted(wanted.difference(lane.id for lane in lanes))
    if unknown:
        raise UsageError("\n".join(_no_such_lane(name, [lane.id for lane in lanes], path) for name in unknown))
    return tuple(lane for lane in lanes if not wanted or lane.id in wanted)


def _no_such_lane(name: str, ids: Sequence[str], path: Path) -> str:
    near = get_close_matches(name, ids, n=3, cutoff=0.5) or ids
    return f"{path} has no lane {name!r} (it has {listed(near, 5)})"
