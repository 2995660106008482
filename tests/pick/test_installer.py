"""An installer in another language that follows docs/pick.md gives every expected answer: the text is enough."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipeline.pick import choose
from pipeline.policy import load_policy
from tests.pick.test_vectors import answer, host, release

HERE = Path(__file__).parent
VECTORS = HERE.parent / "data" / "pick" / "vectors.json"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="no node on this machine")


def answers(source: Path, vectors: Path = VECTORS) -> list[dict[str, Any]]:
    done = subprocess.run([str(NODE), source, vectors], check=True, capture_output=True, text=True, timeout=60)
    told: list[dict[str, Any]] = json.loads(done.stdout)
    return told


def test_every_vector_is_answered_as_expected() -> None:
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
    wrong = [
        (vector["why"], told)
        for vector, told in zip(vectors, answers(HERE / "installer.mjs"), strict=True)
        if told != vector["expected"]
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("!crosses", "true"),
        ('needs.includes("glibc") ? parts(glibc) : []', "parts(glibc)"),
        ("row.last !== null && branch > row.last", "false"),
        ("compare(parts(driver), parts(row.driver)) < 0", "compare(parts(driver), parts(row.driver)) <= 0"),
        ("number > sm", "false"),
        ("branch > asset.serves.newest_branch", "false"),
        ('"proven", "rehearsed", "inferred"', '"inferred", "proven", "rehearsed"'),
        ("-served.length, ", ""),
        ('seen.includes("failed")', "false"),
        ("host.gpus.length ? others.filter", "false ? others.filter"),
    ],
)
def test_an_installer_with_a_mistake_is_found_out(tmp_path: Path, right: str, wrong: str) -> None:
    """The vectors tell each rule of the text from its neighbour."""
    text = (HERE / "installer.mjs").read_text(encoding="utf-8")
    assert len(re.findall(re.escape(right), text)) == 1
    spoilt = tmp_path / "installer.mjs"
    spoilt.write_text(text.replace(right, wrong), encoding="utf-8")
    assert answers(spoilt) != answers(HERE / "installer.mjs")


SMS = (35, 52, 53, 60, 61, 70, 72, 75, 80, 86, 87, 89, 90, 95, 100, 103, 107, 110, 115, 120, 121, 123, 130)
DRIVERS = ("418.226.00", "450.80.02", "470.256.02", "520.61.05", "525.60.13", "535.54.03", "535.288.01", "550.54.14")
NEWER_DRIVERS = ("570.86.10", "575.51.03", "580.65.06", "580.95.05", "590.44.01", "610.43.02", "620.70.06", "640.10.01")


def machine(chance: Random) -> dict[str, Any]:
    """Any machine, also one that nobody has."""
    driver = chance.choice(DRIVERS + NEWER_DRIVERS)
    return {
        "platform": chance.choice(("x86_64", "x86_64", "aarch64", "riscv64")),
        "glibc": chance.choice((None, "2.27", "2.31", "2.34", "2.36", "2.40")),
        "gpus": [f"{chance.choice(SMS)}@{driver}" for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))],
    }


def test_both_agree_on_machines_that_nobody_listed(tmp_path: Path) -> None:
    chance = Random(8)
    data = json.loads(VECTORS.read_text(encoding="utf-8"))
    asked = [{"release": chance.choice([*data["releases"]]), "machine": machine(chance)} for _ in range(1500)]
    (tmp_path / "asked.json").write_text(json.dumps({**data, "vectors": asked}), encoding="utf-8")
    told = answers(HERE / "installer.mjs", tmp_path / "asked.json")
    policy = load_policy()
    here = [answer(choose(release(each["release"]), host(each["machine"], policy))) for each in asked]
    differ = [(each, one, other) for each, one, other in zip(asked, here, told, strict=True) if one != other]
    assert not differ, (len(differ), differ[:2])
    assert len({json.dumps(each) for each in told}) > 50
