from __future__ import annotations

import pytest

from pipeline.matrix.containers import Items, Key, Named, Record, Variants
from pipeline.matrix.kinds import Choice, Flag, Integer, Kind, Seconds, Text
from tests.matrix.files import node

NAME = Text("a name", "x", "[a-z]+")
THING = Record("a thing", (Key("name", NAME, "Name.", required=True), Key("big", Flag(), "Size.")))
SHAPES = Variants("a shape", (Record("a circle", (Key("radius", NAME, "R.", required=True),)), THING))


def said(kind: Kind, text: str) -> list[str]:
    return [str(mistake).removeprefix("matrix.yaml:") for mistake in kind.check(node(f"- {text}").items[0])]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Text("a version", "13.0", r"[0-9.]+"), "13.0", '1:3: found the number 13.0; put it in quotes: "13.0"'),
        (NAME, "12", '1:3: found the number 12; write a name such as "x"'),
        (NAME, "Abc", "1:3: 'Abc' is not a name; write a name such as \"x\""),
        (NAME, "[a]", '1:3: found a list; write a name such as "x"'),
        (NAME, "null", '1:3: found nothing; write a name such as "x"'),
        (Choice(("size", "speed")), "sped", "1:3: 'sped' is not one of size, speed; write 'speed'"),
        (Choice(("size", "speed")), "zzz", "1:3: 'zzz' is not one of size, speed; write one of size, speed"),
        (Choice(("size",)), "1", "1:3: found the number 1; write one of size"),
        (Flag(), "yes", "1:3: found the text 'yes'; write true or false"),
        (Flag(), "1", "1:3: found the number 1; write true or false"),
        (Seconds(), "true", "1:3: found the truth value true; write seconds, such as 120"),
        (Seconds(), "0", "1:3: 0 seconds; write more than 0 and at most 86400"),
        (Seconds(), "'5'", "1:3: found the text '5'; write seconds, such as 120"),
        (Integer("1", 1, 1), "2", "1:3: found the number 2; write 1"),
        (Integer("1", 1, 1), "1.5", "1:3: found the number 1.5; write 1"),
        (Items(NAME), "a", "1:3: found the text 'a'; write a list: [a name such as \"x\"]"),
        (Items(NAME, least=1), "[]", '1:3: an empty list; write a list: [a name such as "x"], or remove the key'),
        (Items(NAME, unique=True), "[a, b, a]", "1:10: 'a' is listed twice; keep one of the two"),
        (THING, "x", "1:3: found the text 'x'; write {name: …} (a thing)"),
        (THING, "{nme: a, name: b}", "1:4: unknown key 'nme' in a thing; write 'name'"),
        (THING, "{zzz: a, name: b}", "1:4: unknown key 'zzz' in a thing; known: big, name"),
        (THING, "{big: true}", "1:3: a thing has no 'name'; add name: a name such as \"x\""),
        (Record("it", (Key("a", NAME, "A."),), least=1), "{}", "1:3: it is empty; write at least 'a', or remove it"),
        (Named("things", THING), "{'a b': {name: x}}", "1:4: 'a b' cannot be a name here; use letters, digits, dot"),
        (Named("things", THING), "[]", "1:3: found a list; write {NAME: …} (things by name)"),
        (SHAPES, "{radius: a, name: b}", "1:3: a shape with radius and name at once; keep one of them"),
        (SHAPES, "{radus: a}", "1:4: unknown key 'radus' in a shape; write 'radius'"),
        (SHAPES, "{}", "1:3: a shape with none of radius, name; add one of them"),
        (SHAPES, "5", "1:3: found the number 5; write a shape with one of the keys radius, name"),
    ],
)
def test_one_mistake_says_where_what_and_what_instead(kind: Kind, text: str, expected: str) -> None:
    (line,) = said(kind, text)
    assert line.startswith(expected)


def test_all_mistakes_of_a_record_are_reported() -> None:
    assert len(said(THING, "{nme: a, big: 3, other: 1}")) == 4


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (NAME, "abc"),
        (Flag(), "true"),
        (Seconds(), "0.5"),
        (Integer("it", 1, 99), "90.0"),
        (Items(NAME, least=1, unique=True), "[a, b]"),
        (THING, "{name: a}"),
        (SHAPES, "{radius: a}"),
        (SHAPES, "{name: b, big: false}"),
    ],
)
def test_sound_values_have_no_mistake(kind: Kind, text: str) -> None:
    assert said(kind, text) == []
