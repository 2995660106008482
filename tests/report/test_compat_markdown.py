"""The table of a release's notes says what the evidence says, and no name in it does anything."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.model.versions import DriverVersion
from pipeline.pick import Asset, Basis, PromisedTarget, Release, Seen
from pipeline.pick.read import read_release
from pipeline.report.compat_markdown import MOST_BYTES, compat_markdown
from tests.report.conftest import HOSTILE
from tests.report.test_markdown import html

VECTORS = Path(__file__).resolve().parents[1] / "data" / "pick" / "vectors.json"
RELEASES = json.loads(VECTORS.read_text(encoding="utf-8"))["releases"]
GOLDEN = r"""
| asset | GPU code | PTX | lowest driver | proven on | host | sha256 |
| --- | --- | --- | --- | --- | --- | --- |
| server-cpu-x86\_64.tar.gz | none | none | needs no GPU |  | x86\_64, glibc 2.31 or newer | CPU |
| server-cuda11.8-x86\_64.tar.gz | OLDCODE | compute\_86 | DRIVERS | no GPU yet | HOST | OLD |
| server-cuda12.4-x86\_64.tar.gz | NEWCODE | none | MINOR | SEEN | GLIBC | NEW |
"""
OLDCODE = r"sm\_52 sm\_61 sm\_70 sm\_75 sm\_80 sm\_86"
NEWCODE = r"sm\_61 sm\_70 sm\_75 sm\_80 sm\_86 sm\_89 sm\_90"
DRIVERS = (
    r"450.80.02, up to R580: sm\_52 sm\_61 sm\_70<br>450.80.02: sm\_75 sm\_80<br>455.23.05: sm\_86<br>"
    r"520.61.05: sm\_89<br>520.61.05, from PTX: sm\_90<br>570.86.10, from PTX: sm\_100 sm\_120<br>"
    r"575.51.03, from PTX: sm\_103 sm\_121<br>615.71.09, from PTX: sm\_107"
)
MINOR = r"525.60.13, up to R580: sm\_61 sm\_70<br>525.60.13: sm\_75 sm\_80 sm\_86 sm\_89 sm\_90"
SEEN = r"GPU (sm\_80), driver 535.288.01<br>waived: GPU (sm\_75), driver 550.54.14"


def release(name: str = "full") -> Release:
    return read_release(json.dumps(RELEASES[name]).encode(), name)


def asset(file: str) -> Asset:
    (found,) = [each for each in release().assets if each.file == f"server-{file}-x86_64.tar.gz"]
    return found


def test_a_release_reads_like_this() -> None:
    cpu, old, new = (asset(name) for name in ("cpu", "cuda11.8", "cuda12.4"))
    words = {"CPU": cpu.sha256, "OLD": old.sha256, "NEW": new.sha256, "DRIVERS": DRIVERS, "MINOR": MINOR, "SEEN": SEEN}
    words |= {"OLDCODE": OLDCODE, "NEWCODE": NEWCODE}
    words |= {"HOST": r"x86\_64, glibc 2.27 or newer", "GLIBC": r"x86\_64, glibc 2.31 or newer"}
    golden = re.sub("[A-Z]{3,}(?= )", lambda found: words.get(found[0], found[0]), GOLDEN)
    text = compat_markdown(Release("x", (cpu, old, new)))
    assert text.startswith("## Which asset for which machine\n")
    assert text.endswith(golden)


def test_boards_that_were_seen_are_named_each_once() -> None:
    target = PromisedTarget(80, DriverVersion("535.54.03"), Basis.PROVEN, "A30")
    seen = replace(target, seen=(Seen("A100", DriverVersion("535.288.01")),) * 2)
    text = compat_markdown(Release("x", (replace(asset("cuda12.4"), targets=(target, seen)),)))
    assert r"| A30 (sm\_80), driver 535.54.03<br>A100 (sm\_80), driver 535.288.01 |" in text


def test_what_failed_and_what_nobody_saw_stands_there() -> None:
    text = compat_markdown(release())
    assert r"<br>failed: GPU (sm\_75), driver 580.65.06 |" in text
    assert "| no GPU yet |" in text


def test_integrated_gpus_are_for_arm() -> None:
    rows = {
        line.split(" |")[0]: line for line in compat_markdown(release()).splitlines() if line.startswith("| server")
    }
    assert r"sm\_87 sm\_90" in rows[r"| server-cuda13.0-aarch64.tar.gz"]
    assert r"sm\_87" not in rows[r"| server-cuda12.4-x86\_64.tar.gz"]


def test_a_release_of_an_older_version_tells_what_it_has() -> None:
    assert r"525.60.13: sm\_80<br>not known: sm\_90" in compat_markdown(release("older-format"))


def test_hostile_names_are_shown_and_do_nothing() -> None:
    target = PromisedTarget(80, DriverVersion("535.54.03"), Basis.PROVEN, HOSTILE)
    bad = replace(asset("cuda12.4"), file=HOSTILE, sha256=HOSTILE, targets=(target,))
    made = html(compat_markdown(Release("x", (bad,))))
    assert set(re.findall(r"<(\w+)", made)) <= {
        *("h2", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "br")
    }
    assert made.count("<td>") == 7
    assert not re.search(r"\x1b|\x00|\u202e|[\udc00-\udfff]", made)


@pytest.mark.parametrize("number", [1, 2000])
def test_it_fits_a_release_and_counts_what_does_not(number: int) -> None:
    text = compat_markdown(Release("x", release().assets * number))
    assert len(text.encode()) <= MOST_BYTES
    assert ("left out** (a release's text holds 125,000 characters)" in text) is (number > 1)
