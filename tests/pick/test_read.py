"""A compat.json comes from outside: each spoiled one is refused by name, and its healthy twin is read."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import CorruptInput, ExitStatus, NothingExamined
from pipeline.model.target import Platform
from pipeline.model.versions import DriverVersion, GlibcVersion
from pipeline.pick import Host, HostGpu, choose
from pipeline.pick.read import LARGEST, read_release

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS = Path(__file__).resolve().parents[1] / "data" / "pick" / "vectors.json"
HEALTHY: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))["releases"]["full"]


def spoiled(spoil: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """The healthy document after ``spoil(document, its asset for CUDA 12.4)``."""
    content = deepcopy(HEALTHY)
    spoil(content, content["assets"][3])
    return json.dumps(content).encode()


def test_the_healthy_twin_is_read() -> None:
    assert len(read_release(spoiled(lambda *_: None), "compat.json").assets) == len(HEALTHY["assets"])


def test_members_that_nobody_knows_are_no_reason_to_refuse() -> None:
    raw = spoiled(lambda document, asset: (document.update(more=1), asset.update(more={})))
    assert read_release(raw, "compat.json").assets


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda d, _: d.update(schema_version=2), "has schema_version 2; this cubingate reads 1"),
        (lambda d, _: d.update(schema_version=True), "schema_version is no int"),
        (lambda d, _: d.update(kind="audit"), "a document of kind 'audit'"),
        (lambda d, _: d.pop("assets"), "assets is not there"),
        (lambda d, _: d.update(assets={}), "assets is no list"),
        (lambda d, _: d["assets"].append(7), r"assets\[7\] is no object"),
        (lambda d, a: d["assets"].append(a), "two assets of one name"),
        (lambda _, a: a.update(file="\x1b[31mred.tar.gz"), r"file '\\\\x1b\[31mred.tar.gz' is not a plain name"),
        (lambda _, a: a.update(file="../../etc/passwd"), "is not a plain name"),
        (lambda _, a: a.update(file=""), "is not a plain name"),
        (lambda _, a: a.update(file="\u202egnp.exe"), "is not a plain name"),
        (lambda _, a: a.update(file="x" * 256), "is not a plain name"),
        (lambda _, a: a.update(lane="a\nb"), "is not a plain name"),
        (lambda _, a: a.update(size="1"), "size is no int"),
        (lambda _, a: a.update(size=-5), "size is no number of bytes"),
        (lambda _, a: a.update(size=10**400), "size is no number of bytes"),
        (lambda _, a: a.update(sha256="unknown"), "'unknown' is no SHA-256"),
        (lambda _, a: a.update(sha256="A" * 64), "'AAAA.*' is no SHA-256"),
        (lambda _, a: a.update(platform="vax"), "'vax' means nothing here"),
        (lambda _, a: a.update(flavour="rocm"), "'rocm' means nothing here"),
        (lambda _, a: a.update(toolkit=12.8), "toolkit is no str"),
        (lambda _, a: a.update(glibc="new"), "'new' means nothing here"),
        (lambda _, a: a["archs"].update(real=["sm_80"]), "'sm_80' means nothing here"),
        (lambda _, a: a["archs"].update(real=[80]), "int where text was expected"),
        (lambda _, a: a["minimum_driver"].update(inferred={"80": "535"}), "'535' means nothing here"),
        (lambda _, a: a["minimum_driver"].update(inferred={"eighty": None}), "'eighty' is not an SM number"),
        (lambda _, a: a["targets"].append({"target": "80@535.1", "standing": "great"}), "'great' means nothing here"),
        (lambda _, a: a["targets"].append({"target": "80", "standing": "proven"}), "'' means nothing here"),
        (lambda _, a: a["targets"][0].update(gpu="A30\x1b[2J"), "is not a plain name"),
        (lambda _, a: a["targets"][0].update(proven_on={}), "proven_on is no list"),
        (lambda _, a: a["targets"][0].update(proven_on=[7]), "proven_on is no object"),
        (lambda _, a: a["targets"][0].update(proven_on=[{"driver": "new"}]), "'new' means nothing here"),
        (lambda _, a: a.update(serves=[]), r"assets\[3\]\.serves is no object"),
        (lambda _, a: a["serves"].update(newest_branch="620"), "newest_branch is no int"),
        (lambda _, a: a["serves"]["gpus"][0].update(served="sometimes"), r"serves\.gpus\[0\]: 'sometimes'"),
        (lambda _, a: a["serves"]["gpus"][0].update(served="native"), "served native, but minimum_driver is None"),
        (lambda _, a: a["serves"]["gpus"][0].update(last_branch="470"), "last_branch is no int"),
        (lambda _, a: a["serves"]["gpus"][0].update(tegra=0), "tegra is no bool"),
    ],
)
def test_a_spoiled_document_is_refused_by_name(spoil: Callable[[Any, Any], object], words: str) -> None:
    with pytest.raises(CorruptInput, match=words) as caught:
        read_release(spoiled(spoil), "compat.json")
    assert str(caught.value).startswith("compat.json: ")
    assert str(caught.value).isprintable()
    assert caught.value.status is ExitStatus.CORRUPT_INPUT


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"schema_version": ' + b"9" * 5000 + b"}",
        b'{"schema_version": NaN, "kind": "compat"}',
        b" " * (LARGEST + 1),
    ],
    ids=["empty", "utf-16", "cut", "list", "null", "deep", "digits", "nan", "large"],
)
def test_what_is_no_document_is_refused(raw: bytes) -> None:
    with pytest.raises(CorruptInput):
        read_release(raw, "compat.json")


def test_a_release_without_assets_has_nothing_to_choose_from() -> None:
    with pytest.raises(NothingExamined, match="lists no asset"):
        read_release(spoiled(lambda document, _: document.update(assets=[])), "compat.json")


RUBBISH: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    "",
    "\x1b[2J",
    "80@",
    "9" * 400,
    [],
    [[]],
    {},
    {"sm": {}},
    "native",
    "570",
)


def test_no_value_anywhere_is_a_traceback() -> None:
    """Every leaf and branch of a document in turn becomes something else: an answer or a refusal, nothing besides."""
    chance = Random(8)
    content = json.loads(VECTORS.read_text(encoding="utf-8"))["releases"]["gpu-only"]
    told = []
    for _ in range(600):
        spoilt = deepcopy(content)
        _spoil(spoilt, chance)
        try:
            release = read_release(json.dumps(spoilt).encode(), "compat.json")
        except (CorruptInput, NothingExamined) as error:
            told.append(str(error))
        else:
            choose(release, Host(Platform.X86_64, GlibcVersion("2.36"), (HostGpu(80, DriverVersion("535.54.03")),)))
    assert len(told) > 300
    assert all(text.isprintable() for text in told)


def _spoil(content: Any, chance: Random) -> None:
    """Walk down at random, and replace or remove what is there."""
    while True:
        key = chance.choice(list(content)) if isinstance(content, dict) else chance.randrange(len(content))
        below = content[key]
        if isinstance(below, dict | list) and below and chance.random() < 0.8:
            content = below
        elif chance.random() < 0.2:
            del content[key]
            return
        else:
            content[key] = chance.choice(RUBBISH)
            return
