"""The page needs nothing else, does nothing that foreign text says, and is right in a browser at any width."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.audit.kernels import KernelGroup, KernelReport
from pipeline.gate import judge
from pipeline.model.finding import Status
from pipeline.model.lane import Lane, Proof, Target, Waiver
from pipeline.model.paths import MemberPath
from pipeline.model.versions import DriverVersion
from pipeline.report.audit_html import audit_html
from pipeline.report.gate_html import MOST_COLUMNS, gate_html
from tests.report.conftest import HOSTILE, finding, hostile, many, told
from tests.values import A30, CPU, TERMS, bundle, cuda_lane, record

if TYPE_CHECKING:
    from pipeline.gate import LaneVerdict

BROWSER = shutil.which("chromium")
CARDS = ((61, "535"), (80, "535"), (86, "550"), (89, "550"), (90, "580"), (120, "580"))


def floors(old: str, new: str) -> dict[str, dict[str, str]]:
    return {"old": {"minimum_driver": old}, "new": {"minimum_driver": new}}


FOUND = [
    {"severity": "error", "rule": "fatbin-codec", "observed": HOSTILE, "remedy": HOSTILE, "path": HOSTILE, "count": 143}
]

COMPARED: dict[str, Any] = {
    "old": {"path": "/cache/server-0.9-linux-x86_64-cuda12.8.tar.gz", "size": 480 << 20},
    "new": {"path": "/state/server-1.0-linux-x86_64-cuda12.8.tar.gz", "size": 612 << 20},
    "floors": [
        *({"sm": sm, **floors("525.60.13", "550.54.14")} for sm in ("80", "86", "89", "90")),
        {"sm": "120", **floors("575.51.03", "570.86.10")},
    ],
    "sizes": [
        {"path": "lib/libggml-cuda.so", "old": 400 << 20, "new": 520 << 20},
        {"path": f"lib/{HOSTILE}", "old": 0, "new": 12 << 20},
        {"path": "README", "old": 900, "new": 10},
    ],
    "outcomes": [{"rule": "file-gone", "status": "waived", "reason": "allowed: LICENSE is gone"}],
    "findings": [
        {"severity": "note", "rule": "kernel-gone", "observed": "fewer instantiations of mul_mat_q (96 → 80)"},
        {"severity": "error", "rule": "arch-lost", "observed": "no cubin for sm_61 any more", "count": 143},
        {"severity": "error", "rule": "kernel-gone", "observed": HOSTILE, "count": 2},
        {"severity": "warning", "rule": "size-grown", "observed": "641728512 bytes; most of it: libggml-cuda.so"},
    ],
}
HELD = {"sm_61": 12, "sm_80": 12, "sm_90": 12, "compute_90": 12}
KERNELS: list[Any] = [
    {"library": "b.tar.gz!/lib/libggml-cuda.so", "group": name, "kernels": 12, "archs": {**HELD, **archs}}
    for name, archs in (
        ("void flash_attn_ext_f16<int, int, int, ggml_type, bool>", {"sm_61": 9, "sm_90": 12}),
        (HOSTILE, {"sm_61": 0, "sm_80": 3}),
        *((f"void mul_mat_q<ggml_type({number}), int, bool>", {}) for number in range(40)),
    )
]
CHANGED = {**COMPARED, "kernels": {"groups": KERNELS}}
SEEN = KernelReport(
    tuple(
        KernelGroup(
            MemberPath((row["library"],)),
            row["group"],
            row["kernels"],
            tuple((arch, held) for arch, held in row["archs"].items() if held),
            None,
            0,
        )
        for row in KERNELS
    ),
    (("61@535.54.03", (HOSTILE,)),),
)
PLAIN = {
    **COMPARED,
    "findings": [row for row in COMPARED["findings"] if row["observed"] != HOSTILE],
    "sizes": [COMPARED["sizes"][0]],
    "kernels": {"groups": [KERNELS[0], *KERNELS[2:]]},
}
QUICK = {"models": [{"seconds": {"ready": 0.61, "first_token": 0.05, "warm_token": None}}, {"seconds": 3}]}

PROBE = """<body><script>
for (const name of NAMES) for (const width of [390, 1280]) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border:0;height:900px;width:${width}px`;
  frame.src = name;
  frame.onload = () => {
    const told = document.createElement("b");
    told.textContent = `${name} ${width} ${frame.contentDocument.documentElement.scrollWidth}`;
    document.body.append(told);
  };
  document.body.append(frame);
}
</script></body>"""
"""Opens pages at two widths and writes down how wide their content became."""

AXE = """<script>axe.run().then(told => {
  const named = told.violations.map(each => `${each.id} ${each.nodes[0].html}`).join(", ");
  const result = document.createElement("pre");
  result.textContent = `violations: ${named}; passes: ${told.passes.length}`;
  document.body.replaceChildren(result);
})</script>"""


TIMED = """<script>addEventListener("load", () => setTimeout(() => {
  document.body.getBoundingClientRect();
  const [entry] = performance.getEntriesByType("navigation");
  const result = document.createElement("pre");
  result.textContent = [entry.domInteractive, entry.loadEventEnd, performance.now()].map(Math.round).join(" ");
  document.body.replaceChildren(result);
}))</script>"""
"""Writes down when the page could be used, was loaded, and was laid out."""


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def targets_of(number: int = len(CARDS)) -> tuple[Target, ...]:
    proofs = (Proof.PROVEN, Proof.REHEARSED, Proof.INFERRED)
    cards = [CARDS[index % len(CARDS)] for index in range(number)]
    return tuple(
        Target(sm, DriverVersion(f"{driver}.{index}.01"), gpu=f"GPU {sm}", suffices=proofs[index % 3])
        for index, (sm, driver) in enumerate(cards)
    )


def lane_named(name: str, targets: tuple[Target, ...], *, more: tuple[str, ...] = (), **changes: object) -> Lane:
    asked = tuple(check for target in targets for check in target.asked)
    return cuda_lane(id=name, targets=targets, required=("audit", *asked, *more), size_budget=900 << 20, **changes)


def verdict(
    tmp_path: Path, lane: Lane, *, bad: int = 0, without: int = 0, compared: dict[str, Any] | None = None
) -> LaneVerdict:
    """The lane with all its evidence; a failure on SM ``bad``, none on SM ``without``."""
    artifact = bundle(tmp_path, lane, lane.id.encode())
    passes = [
        {"sm": str(target.sm), "driver": str(target.driver), "verdict": "pass", "causes": [], "errors": []}
        for target in lane.targets
    ]
    records = [record(lane, artifact, "audit", document={"targets": passes, "outcomes": []})]
    records.append(record(lane, artifact, "build", finished="2026-01-01T00:12:21Z"))
    if compared is not None:
        lost = any(row["severity"] == "error" for row in compared["findings"])
        status = Status.FAIL if lost else Status.PASS
        records.append(record(lane, artifact, "diff", document=compared, status=status))
    for target in (item for item in lane.targets if item.sm != without):
        machine = replace(A30, sm=target.sm, driver=str(target.driver), gpu=target.gpu)
        for check in target.asked:
            failed = target.sm == bad
            records.append(
                record(
                    lane,
                    artifact,
                    check,
                    status=Status.FAIL if failed else Status.PASS,
                    machine=CPU if check.startswith("rehearse") else machine,
                    document={"findings": FOUND} if failed else QUICK,
                )
            )
    return judge(lane, artifact, records, terms=TERMS)


def good(tmp_path: Path) -> list[LaneVerdict]:
    """All approved, one compared with a release that it lost nothing against."""
    same = {side: {"path": f"{side}.tar.gz", "size": 480 << 20} for side in ("old", "new")}
    kept = {"floors": [], "sizes": [], "findings": [], "kernels": {"groups": KERNELS[2:]}}
    first = lane_named("cuda12.8-sm80", targets_of(), more=("diff",))
    return [
        verdict(tmp_path, first, compared={**same, **kept}),
        verdict(tmp_path, lane_named("cuda13.0-sm90", targets_of()[3:5])),
    ]


def mixed(tmp_path: Path) -> list[LaneVerdict]:
    targets = targets_of()
    waived = (Waiver(targets[3].checks[0], "runner in repair", "me", "2026-12-24"),)
    return [
        good(tmp_path)[0],
        verdict(tmp_path, lane_named("cuda12.4-waived", targets, waivers=waived), without=89),
        verdict(tmp_path, lane_named("cuda11.8-שלום", targets, more=("diff",)), bad=61, compared=CHANGED),
        judge(lane_named("cuda13.0-sm90", targets[3:5]), None, [], terms=TERMS, why_no_artifact="not built: on demand"),
    ]


def pages(tmp_path: Path) -> dict[str, str]:
    found = mixed(tmp_path)
    return {
        "gate-good": gate_html(good(tmp_path)),
        "gate-bad": gate_html(found[2:]),
        "gate-mixed": gate_html(found),
        "audit": audit_html(told(kernels=SEEN)),
        "audit-hostile": audit_html(hostile()),
    }


def test_a_page_needs_nothing_else_and_forbids_everything(tmp_path: Path) -> None:
    for text in pages(tmp_path).values():
        page = Page(text)
        used = {name for _, attributes in page.tags for name in attributes}
        assert not used & {"src", "srcset", "style", "action", "data"}
        assert not [name for name in used if name.startswith("on")]
        assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "form", "base"}
        links = [attributes["href"] or "" for tag, attributes in page.tags if tag == "a"]
        assert all(link.startswith("#l") for link in links)
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
        assert style is not None
        assert "url(" not in style[1]
        assert "@import" not in style[1]
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        assert f"default-src 'none'; style-src 'sha256-{digest}'" in text.replace("&#39;", "'").replace("&#43;", "+")


def test_what_is_opened_is_closed(tmp_path: Path) -> None:
    for text in pages(tmp_path).values():
        open_tags: list[str] = []
        for closing, tag in re.findall(r"<(/?)([a-z][a-z0-9]*)[^>]*>", text):
            if closing:
                assert open_tags.pop() == tag
            elif tag != "meta":
                open_tags.append(tag)
        assert not open_tags


def test_foreign_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    for name in ("audit-hostile", "gate-mixed"):
        text = pages(tmp_path)[name]
        assert "<img" not in text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\udc00-\udfff]", text)
        assert r"\x1b[31m\r\n::error::no\x00" in Page(text).text
        assert "{{ 7 * 7 }}" in Page(text).text


def test_tables_say_what_their_cells_are_about(tmp_path: Path) -> None:
    page = Page(pages(tmp_path)["gate-mixed"])
    assert all(attributes.get("scope") in {"col", "row"} for tag, attributes in page.tags if tag == "th")
    regions = [attributes for _, attributes in page.tags if attributes.get("role") == "region"]
    named = {attributes.get("id") for _, attributes in page.tags}
    assert regions
    assert all(item["aria-labelledby"] in named and item["tabindex"] == "0" for item in regions)
    scrolled = [attributes for _, attributes in page.tags if attributes.get("class") == "wide"]
    assert len(scrolled) > len(regions)
    assert all(item["role"] == "group" and item["aria-label"] for item in scrolled if item not in regions)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), "no level is left out"
    assert ("html", {"lang": "en"}) in page.tags


def test_marks_are_words_and_signs_and_not_colour_alone(tmp_path: Path) -> None:
    found = re.findall(r'<td class="\w">([^<]*)</td>', pages(tmp_path)["gate-mixed"])
    assert {"● proven", "○ inferred", "✕ failed", "? missing", "✓ approved", "✕ refused", "·"} <= set(found)


def test_the_page_names_what_refuses_and_what_to_change(tmp_path: Path) -> None:
    text = Page(pages(tmp_path)["gate-mixed"]).text
    assert "not built: on demand" in text
    assert "fatbin-codec x143" in text
    assert "of at most 900.0 MiB" in text


def test_the_page_tells_what_became_of_the_last_release(tmp_path: Path) -> None:
    made = pages(tmp_path)
    text = " ".join(Page(made["gate-mixed"]).text.split())
    assert "480.0 MiB → 612.0 MiB, grew by 27.5%" in text
    assert "↑ raised sm_80, sm_86, sm_89, sm_90: 525.60.13 → 550.54.14" in text
    assert "↓ lowered sm_120: 575.51.03 → 570.86.10" in text
    assert "✕ arch-lost no cubin for sm_61 any more" in text
    assert "~ allowed file-gone" in text
    assert "grew: lib/libggml-cuda.so: 400.0 MiB → 520.0 MiB (+120.0 MiB)" in text
    assert text.count("no cubin for sm_61 any more") == 2, "in the table and among the lane's findings, once each"
    assert "2 more lanes without such a comparison on record." in text
    (only,) = [gate_html([found]) for found in mixed(tmp_path)[1:2]]
    assert "No lane has a comparison with the last release on record" in only


def test_no_folder_of_a_machine_is_told(tmp_path: Path) -> None:
    lane = lane_named("one", targets_of(1))
    artifact = bundle(tmp_path, lane)
    groups = [
        {"library": "/builds/7/b.tar.gz!/lib/k.so", "group": "k", "kernels": 2, "archs": {"sm_80": 1, "sm_90": 2}}
    ]
    bad = [{"severity": "error", "rule": "x", "observed": "y", "remedy": "z", "path": "/builds/7/b.tar.gz!/lib/k.so"}]
    document = {"findings": bad, "kernels": {"groups": groups}}
    found = record(lane, artifact, "audit", document=document, status=Status.FAIL)
    text = gate_html([judge(lane, artifact, [found], terms=TERMS)])
    assert "/builds" not in text
    assert text.count("<code>b.tar.gz!/lib/k.so</code>") == 2


def test_the_page_tells_sizes_and_times(tmp_path: Path) -> None:
    rows = re.findall(r"<td>([^<]*)</td>" * 7, pages(tmp_path)["gate-good"])
    assert rows[0][1:] == ("0%", "12 min 21 s", "8.0 s", "0.61 s", "0.05 s", "-")
    assert set(gate_cells(gate_html(mixed(tmp_path)[3:]))) == {"-"}


def gate_cells(text: str) -> list[str]:
    return re.findall(r"<td>([^<]*)</td>", text)


def test_the_pages_tell_kernel_groups_by_architecture(tmp_path: Path) -> None:
    made = pages(tmp_path)
    for name in ("gate-mixed", "audit"):
        assert "504 kernels in 42 groups, 40 of them for each of" in Page(made[name]).text
        assert '<td class="w">◐ 9 of 12</td>' in made[name]
    assert made["gate-mixed"].count("mul_mat_q") == 1, "what is everywhere is only counted, but in a finding"
    assert made["audit"].count("mul_mat_q") == 40
    assert "! lacks" in made["audit"]


def test_more_targets_than_columns_are_shown_by_sm(tmp_path: Path) -> None:
    lane = lane_named("many", targets_of(MOST_COLUMNS + 8))
    text = gate_html([verdict(tmp_path, lane, bad=80)])
    assert text.count("<small>all drivers</small>") == len({sm for sm, _ in CARDS})
    assert "✕ failed (worst of 8)" in text


def test_very_many_findings_are_cut_and_counted() -> None:
    text = audit_html(many(100_000))
    assert len(text) < 2_000_000
    assert text.count("19950 more findings of this rule are not shown here; JSON has all.") == 5


def largest(tmp_path: Path) -> list[LaneVerdict]:
    """256 lanes by 12 targets, the most jobs that GitHub starts, each compared with a release before."""
    targets = targets_of(12)
    found = {"severity": "error", "rule": "ptx-isa", "remedy": "build with a toolkit of CUDA 12.4 or older"}
    found["path"] = "/builds/7/server-1.0-linux-x86_64-cuda12.8.tar.gz!/server-1.0/lib/libggml-cuda.so!/.nv_fatbin"
    wrong = [{**found, "observed": f"PTX 8.{number} needs driver >= 570.86.10", "count": 9} for number in range(40)]
    compared = {**PLAIN, "findings": [*PLAIN["findings"], *wrong]}
    lanes = [lane_named(f"cuda12.8-sm80-lane{index}", targets, more=("diff",)) for index in range(256)]
    return [verdict(tmp_path, lane, bad=61, compared=compared) for lane in lanes]


def test_the_largest_matrix_is_small_and_quick(tmp_path: Path) -> None:
    found = largest(tmp_path)
    before = time.monotonic()
    text = gate_html(found)
    assert time.monotonic() - before < 5  # seconds; half a second on two idle cores
    assert len(text.encode()) < 2_000_000
    assert text.count("10 of its targets hold, as the map has it") == 256
    assert text.count("more findings are not shown here") == 256


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_the_largest_matrix_is_interactive_within_a_second(tmp_path: Path) -> None:
    """From the navigation until all is laid out once. Others work here too: one of several looks must do."""
    page = tmp_path / "largest.html"
    page.write_text(
        re.sub("<meta http-equiv[^>]*>", "", gate_html(largest(tmp_path))).replace("</body>", f"{TIMED}</body>")
    )
    times: list[tuple[float, ...]] = []
    while len(times) < 8 and not (times and times[-1][2] < 1000):
        told_by = _browser(tmp_path, "--dump-dom", page)
        times.append(tuple(map(float, re.findall(r"<pre>(\d+) (\d+) (\d+)</pre>", told_by)[0])))
    (tmp_path / "times.txt").write_text(f"domInteractive, load, laid out in ms: {times}\n")
    assert times[-1][2] < 1000, times


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_in_a_browser_no_page_is_wider_than_the_screen(tmp_path: Path) -> None:
    """Screenshots for eyes lie in CUBINGATE_SCREENSHOTS, or beside the test; the browser is asked for widths."""
    shots = Path(os.environ.get("CUBINGATE_SCREENSHOTS") or tmp_path)
    shots.mkdir(parents=True, exist_ok=True)
    probe = tmp_path / "probe.html"
    made = pages(tmp_path)
    for name, text in made.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    probe.write_text(PROBE.replace("NAMES", json.dumps([f"{name}.html" for name in made])), encoding="utf-8")
    told_by = _browser(tmp_path, "--dump-dom", "--allow-file-access-from-files", probe)
    assert sorted(re.findall(r"<b>(.*?)</b>", told_by)) == sorted(
        f"{name}.html {width} {width}" for name in made for width in (390, 1280)
    )
    for name, scheme in (
        ("gate-good", "light"),
        ("gate-bad", "light"),
        ("gate-mixed", "light"),
        ("gate-mixed", "dark"),
    ):
        for width in (390, 1280):
            image = shots / f"{name}-{width}-{scheme}.png"
            shot = (f"--screenshot={image}", f"--window-size={width},2400", _preferring(scheme))
            _browser(tmp_path, *shot, tmp_path / f"{name}.html")
            assert image.stat().st_size > 10_000


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_a_link_to_a_lane_opens_it(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(pages(tmp_path)["gate-mixed"], encoding="utf-8")
    folded = r"<details>\s*<summary>[^\n]*cuda12.8-sm80"
    assert re.search(folded, _browser(tmp_path, "--dump-dom", page))
    assert not re.search(folded, _browser(tmp_path, "--dump-dom", f"{page.name}#l1"))


@pytest.mark.network
@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
@pytest.mark.parametrize("name", ["gate-mixed", "audit"])
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nobody_is_kept_out(tmp_path: Path, scheme: str, name: str, axe: Path) -> None:
    """Contrast, names, tables and regions as axe judges them, in the dark and in the light."""
    text = pages(tmp_path)[name].replace("<details", "<details open")
    assert not _barriers(tmp_path, text, scheme, axe)
    assert "html-has-lang" in _barriers(tmp_path, text.replace(' lang="en"', ""), scheme, axe)


def _barriers(folder: Path, text: str, scheme: str, axe: Path) -> str:
    probe = folder / "probe.html"
    script = f'<script src="{axe.as_uri()}"></script>{AXE}</body>'
    probe.write_text(re.sub("<meta http-equiv[^>]*>", "", text).replace("</body>", script), encoding="utf-8")
    told_by = _browser(folder, "--dump-dom", "--virtual-time-budget=20000", _preferring(scheme), probe)
    ((found, passed),) = re.findall(r"<pre>violations: (.*); passes: (\d+)</pre>", told_by)
    assert int(passed) > 10
    return str(found)


def _preferring(scheme: str) -> str:
    return f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"


def _browser(folder: Path, *arguments: str | Path) -> str:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile"]
    *rest, page = arguments
    command = [
        str(BROWSER),
        *options,
        *map(str, rest),
        f"{folder.as_uri()}/{page if isinstance(page, str) else page.name}",
    ]
    return subprocess.run(command, check=True, capture_output=True, timeout=120, text=True).stdout


def test_findings_of_one_place_and_fix_are_told_together() -> None:
    """A fix that is one line of a build was repeated for every library."""
    found = [
        finding(rule="r", observed=f"libx{number}.so lacks sm_61", remedy="build for 61", path="b!/lib")
        for number in "123"
    ]
    page = audit_html(told(findings=(*found, finding(rule="r", observed="y", remedy="build for 61", path="c!/lib"))))
    assert page.count("<dt>fix</dt>") == 2
    assert all(each.observed in page for each in found)
