"""The JSON Schema and the validation come from one definition; here they are held against each other."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import NothingExamined, UsageError
from pipeline.matrix.lint import lint
from pipeline.matrix.load import load_plan
from pipeline.matrix.nodes import plain
from pipeline.matrix.schema import MATRIX_FILE, json_schema
from pipeline.matrix.yaml_source import parse_yaml, read_yaml
from pipeline.policy import load_policy
from tests.matrix.files import CPU, CUDA, HEAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POLICY = load_policy()
ROOT = Path(__file__).resolve().parents[2]
REAL = plain(read_yaml(ROOT / "matrix.yaml"))
SMALL = plain(
    parse_yaml(
        f"""{HEAD}
defaults: {{platform: aarch64, host_libraries: [libcublas.so.12], runner: [gpu]}}
flavours: {{cuda: {{on_demand: true}}, cpu: {{glibc: "2.31"}}}}
matrix: {{toolkit: ["12.8"], exclude: [{{toolkit: "12.8"}}], include: [{CPU}, {CUDA}]}}
waivers: [{{lane: cpu, check: smoke@cpu, reason: r, owner: o, expires: "2027-01-31"}}]
publishers: {{dist: {{kind: directory, location: dist, partial: true}}}}
""".encode(),
        "m",
    )
)


def _pattern(
    _validator: object, pattern: str, instance: object, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    # JSON Schema means ECMAScript's expressions, where $ is the very end; Python's lets a line feed follow.
    if isinstance(instance, str) and not re.search(pattern.removesuffix("$") + r"\Z", instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


ECMA = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
VALIDATOR = ECMA(json_schema())


def agree(document: Any) -> bool:
    """The verdict of both, which must be the same."""
    root = parse_yaml(json.dumps(document).encode(), "matrix.yaml")
    ours = next(MATRIX_FILE.check(root), None)
    theirs = next(iter(VALIDATOR.iter_errors(plain(root))), None)
    assert (ours is None) == (theirs is None), f"ours: {ours}\ntheirs: {theirs}"
    return ours is None


def test_the_schema_is_valid_draft_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_every_key_has_a_description() -> None:
    def properties(part: Any) -> Iterator[Any]:
        if isinstance(part, dict):
            yield from part.get("properties", {}).values()
            for value in part.values():
                yield from properties(value)
        elif isinstance(part, list):
            for value in part:
                yield from properties(value)

    found = list(properties(json_schema()))
    assert len(found) > 80
    assert all(each.get("description", "").endswith((".", ").", ")")) for each in found)


@pytest.mark.parametrize("document", [REAL, SMALL])
def test_both_accept_sound_documents(document: Any) -> None:
    assert agree(document)


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from places(value, (*path, key))


WORDS = [
    "x",
    "",
    "12.8",
    "80-real",
    "cuda",
    "aarch64",
    "audit",
    "smoke@cpu",
    "true",
    "2.31",
    "a b",
    "../x",
    "x\n",
    "1",
    "é",
]
leaves = st.one_of(st.sampled_from(WORDS), st.integers(-2, 1000), st.floats(-1, 100), st.booleans(), st.none())
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS[:6]), inner, max_size=2),
    max_leaves=4,
)


def mutated(data: st.DataObject, document: Any) -> Any:
    """One to three random changes: a value replaced, removed or copied from elsewhere, a key renamed."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        everywhere = list(places(document))
        if len(everywhere) == 1:
            return document
        *above, last = data.draw(st.sampled_from(everywhere[1:]))
        parent = at(document, above)
        match data.draw(st.sampled_from(["replace", "remove", "borrow", "rename"])):
            case "replace":
                parent[last] = data.draw(values)
            case "remove":
                del parent[last]
            case "borrow":
                parent[last] = copy.deepcopy(at(document, data.draw(st.sampled_from(everywhere))))
            case "rename" if isinstance(parent, dict):
                parent[data.draw(st.sampled_from(["nme", "git", "url", "platform", *WORDS]))] = parent.pop(last)
            case _:
                pass
    return document


def at(document: Any, path: Sequence[Any]) -> Any:
    for key in path:
        document = document[key]
    return document


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_both_give_the_same_verdict_on_mutated_documents(data: st.DataObject) -> None:
    agree(mutated(data, data.draw(st.sampled_from([SMALL, REAL]))))


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_a_mutated_document_is_planned_or_refused_and_never_fails_otherwise(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.yaml"
        path.write_text(json.dumps(mutated(data, data.draw(st.sampled_from([SMALL, REAL])))), encoding="utf-8")
        try:
            lint(load_plan(path, policy=POLICY), POLICY)
        except (UsageError, NothingExamined) as error:
            lines = str(error).splitlines()
        else:
            lines = []
        assert all(line.startswith(str(path)) for line in lines)


def test_the_schema_in_the_repository_is_the_one_of_the_code() -> None:
    """Written by ``cubingate schema --output docs/matrix.schema.json``."""
    assert json.loads((ROOT / "docs/matrix.schema.json").read_text(encoding="utf-8")) == json_schema()


def test_matrix_yaml_names_its_schema_for_editors() -> None:
    first = (ROOT / "matrix.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=docs/matrix.schema.json"


def test_editors_compile_every_pattern() -> None:
    """ECMAScript with the flag `u`, as editors and check-jsonschema read them, takes no escape without a meaning."""
    patterns = re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(json_schema()))
    assert patterns
    for pattern in patterns:
        escaped = set(re.findall(r"\\(.)", json.loads(pattern)))
        assert escaped <= set(r"^$\.*+?()[]{}|/0bBdDfnrsStuvwWx-"), pattern
