"""A job summary says first what matters, fits GitHub's limit, and shows foreign text as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import cmarkgfm

from pipeline.gate import judge
from pipeline.report.audit_markdown import audit_markdown
from pipeline.report.gate_markdown import gate_markdown
from pipeline.report.markdown import MOST_BYTES, plain, within
from tests.report.conftest import HOSTILE, hostile, many, told
from tests.values import TERMS, bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.gate import LaneVerdict

GOLDEN = """### ❌ fail: audit of bundle.tar.gz

| verdict | target | why |
| --- | --- | --- |
| ❌ fail | 80&#64;535.288.01 (A30) | fatbin-codec; CUDA\\_ERROR\\_INVALID\\_IMAGE |
| ✅ pass | 90&#64;580.65.06 | 143 native of 143 fatbins |

|  | rule | stands for | fix |
| --- | --- | --- | --- |
| error | fatbin-codec | 143 | build with --compress-mode=speed |
| warning | toolkit-mismatch | 1 | build with --compress-mode=speed |

<details><summary>error: fatbin-codec x143, 1 finding</summary>

* **observed** Zstandard-compressed cubin for sm\\_80 needs driver &gt;= 550.54.14 x143 (on 80&#64;535.288.01)
  * **declared** driver &gt;= 535.288.01
  * **fix** build with --compress-mode=speed
  * **at** /builds/7/bundle.tar.gz!/lib/libggml-cuda.so!/.nv\\_fatbin!/17

</details>
"""


def html(text: str) -> str:
    """As GitHub's own parser of Markdown reads it."""
    return str(cmarkgfm.github_flavored_markdown_to_html(text, cmarkgfm.Options.CMARK_OPT_UNSAFE))


def verdicts(tmp_path: Path, number: int = 1) -> list[LaneVerdict]:
    cpu, cuda = cpu_lane(), cuda_lane()
    artifact = bundle(tmp_path, cpu)
    good = judge(cpu, artifact, [record(cpu, artifact, check) for check in cpu.required], terms=TERMS)
    bad = judge(cuda, None, [], terms=TERMS, why_no_artifact=f"not built: {HOSTILE}")
    return [good, *[bad] * number]


def test_a_small_audit_reads_like_this() -> None:
    assert audit_markdown(told()).startswith(GOLDEN)


def test_foreign_text_is_shown_as_it_is_and_does_nothing() -> None:
    for text in (audit_markdown(hostile()), plain(HOSTILE)):
        made = html(text)
        assert set(re.findall(r"<(\w+)", made)) <= {
            *("h3", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "p", "ul", "li", "strong")
        }
        assert not re.search(r"\x1b|\x00|\u202e|[\udc00-\udfff]", made)
    assert html(plain("a | b `c` **d** <e> &lt;")) == "<p>a | b `c` **d** &lt;e&gt; &amp;lt;</p>\n"


def test_a_row_keeps_its_cells_whatever_is_in_them() -> None:
    assert html(audit_markdown(hostile())).count("<td>") == 3 + 4


def test_letters_from_the_right_do_not_turn_their_surroundings() -> None:
    assert plain("\u05e9\u05dc") == "\u2068\u05e9\u05dc\u2069"


def test_a_hundred_thousand_findings_fit_and_are_counted() -> None:
    text = audit_markdown(many(100_000))
    assert len(text.encode()) < MOST_BYTES
    assert text.count("19980 more findings of this rule (JSON has all).") == 5


def test_what_does_not_fit_is_counted() -> None:
    text = within(["ß" * 100] * 50, most=1000)
    assert len(text.encode()) <= 1000
    assert text.endswith("**47 more lines or sections left out** (a job summary holds 1 MiB).\n")


def test_a_gate_has_a_row_for_each_lane_and_refused_ones_first_below(tmp_path: Path) -> None:
    text = gate_markdown(verdicts(tmp_path))
    lines = text.splitlines()
    assert lines[0] == "### ❌ gate: 1 of 2 lanes approved"
    assert lines[4] == "| ✅&nbsp;approved | cpu | none | 1 proven, 1 inferred |"
    assert lines[5].startswith(
        "| ❌&nbsp;refused | cuda12.8-sm80 | ?&nbsp;80&#64;535.288.01&nbsp;missing | \u2068audit, smoke&#64;80&#64;"
    )
    folded = re.findall(r"<summary>(.*)</summary>", text)
    assert folded == ["refused: cuda12.8-sm80", "approved: cpu"]
    assert "<img" not in html(text)


def test_a_gate_tells_what_became_of_the_last_release(tmp_path: Path) -> None:
    lane = cpu_lane(required=("diff",))
    artifact = bundle(tmp_path, lane)
    document = {
        "old": {"size": 100 << 20},
        "new": {"size": 112 << 20},
        "floors": [{"sm": "80", "old": {"minimum_driver": "525.60.13"}, "new": {"minimum_driver": "550.54.14"}}],
        "findings": [{"severity": "note", "rule": "file-gone", "observed": HOSTILE}],
        "sizes": [{"path": "lib/a.so", "old": 0, "new": 12 << 20}],
    }
    text = gate_markdown([judge(lane, artifact, [record(lane, artifact, "diff", document=document)], terms=TERMS)])
    assert "* **last release** 100.0 MiB → 112.0 MiB, grew by 12.0%" in text
    assert r"* **driver raised** sm\_80: 525.60.13 → 550.54.14" in text
    assert "* **grew** lib/a.so: new (+12.0 MiB)" in text
    assert "* **note** file-gone: " in text
    assert "<img" not in html(text)


def test_a_gate_over_very_many_lanes_fits(tmp_path: Path) -> None:
    text = gate_markdown(verdicts(tmp_path, 3000))
    assert len(text.encode()) < MOST_BYTES
    assert "left out" in text
