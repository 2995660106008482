"""Takes the picture of the README: the job summary of a real run of the release workflow, as GitHub would show it.

    python -m tests.workflow_runs.screenshot        writes docs/images/job-summary.png

needs Chromium and a font with emoji (`apt-get install chromium fonts-noto-color-emoji`).
The run is carried out by act. No driver stands in: nobody serves the GPU, so that what only a GPU proves is missing.
The page around the summary, and its style, are made here; only the first refused lane is folded out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cmarkgfm

from tests.gpu import standin
from tests.rules import forge
from tests.workflow_runs import act, edits, github, repository
from tests.workflow_runs.png import with_palette
from tests.workflow_runs.repository import Json, lane

IMAGE = Path(__file__).resolve().parents[2] / "docs" / "images" / "job-summary.png"
WIDTH = 900
LONGEST = 2000
LABELS = ["self-hosted", "h200"]
STYLE = """
body { margin: 0; padding: 20px; background: #fff; color: #1f2328; font: 14px/1.5 "DejaVu Sans", sans-serif; }
section { border: 1px solid #d1d9e0; border-radius: 6px; padding: 0 20px 12px; }
header { margin: 0 -20px 16px; padding: 8px 20px; border-bottom: 1px solid #d1d9e0; color: #59636e; font-size: 12px; }
h3 { font-size: 20px; margin: 0 0 16px; }
table { border-collapse: collapse; margin-bottom: 16px; }
th, td { border: 1px solid #d1d9e0; padding: 6px 12px; text-align: left; vertical-align: top; }
tr:nth-child(2n) td { background: #f6f8fa; }
ul { margin: 8px 0; padding-left: 24px; }
li { margin: 2px 0; overflow-wrap: anywhere; }
p { margin: 0 0 12px; }
summary { padding: 2px 0; }
"""
TARGETS: Json = {
    "a30-r535": {"gpu": "A30", "sm": 80, "driver": "535.288.01", "suffices": "inferred"},
    "rtx4090-r550": {"gpu": "RTX 4090", "sm": 89, "driver": "550.54.14", "suffices": "inferred"},
    "h200-r580": {"gpu": "H200", "sm": 90, "driver": standin.VERSION, "runner": LABELS},
}
TOOLKIT_12: Json = {
    "flavour": "cuda",
    "toolkit": "12.8.1",
    "driver_floor": "525.60.13",
    "archs": "80-real;89-real",
    "compression": "speed",
    "targets": ["a30-r535", "rtx4090-r550"],
}
LANES = (
    lane("cpu"),
    lane("cuda12.8", **TOOLKIT_12),
    lane("cuda12.8-static", **{**TOOLKIT_12, "targets": ["a30-r535"]}),
    lane(
        "cuda13.0-sm90",
        flavour="cuda",
        toolkit="13.0.2",
        driver_floor="580.65.06",
        archs="90-real",
        targets=["h200-r580"],
    ),
)


def summary(folder: Path) -> str:
    """Run the workflow of four lanes, of which two are to be refused; the Markdown of its gate."""
    device = {
        "cuda12.8": forge.container("12.8", "80 89", "lz4"),
        "cuda12.8-static": forge.container("12.8", "80 89", "zstd"),
        "cuda13.0-sm90": forge.container("13.0", "90"),
    }
    more = {
        name: {"lib/libggml-cuda.so": forge.build(forge.Elf("libggml-cuda.so", [content]), folder / name)}
        for name, content in device.items()
    }
    made = repository.make(folder, LANES, {"targets": TARGETS}, more)
    workflow = made.read_workflow()
    edits.for_act(workflow)
    edits.impatient(workflow)
    edits.use_this_tree(workflow, folder)
    made.write_workflow(workflow)
    row = {"name": f"prove on sm90-{standin.VERSION}", "status": "queued", "labels": LABELS}
    with github.served([{**row, "created_at": "2026-01-01T00:00:00Z"}]) as api:
        ran = act.run(made, act.Machines((), {}, {"GITHUB_API_URL": api.address}, {}))
    return ran.summary("gate")


def page(markdown: str) -> str:
    """The Markdown as a page, with the first lane that is refused folded out."""
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, cmarkgfm.Options.CMARK_OPT_UNSAFE)
    opened = body.replace("<details><summary>refused", "<details open><summary>refused", 1)
    head = f'<meta charset="utf-8"><title>job summary</title><style>{STYLE}</style>'
    return f"<!doctype html>{head}<section><header>gate summary</header>{opened}</section>"


def shoot(browser: str, text: str, folder: Path) -> bytes:
    """A picture of the whole page."""
    probe = "<script>document.title = document.documentElement.scrollHeight</script>"
    (folder / "page.html").write_text(text + probe, encoding="utf-8")
    address = (folder / "page.html").as_uri()
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder}/profile", "--timeout=60000"]
    told = _said([*command, f"--window-size={WIDTH},100", "--dump-dom", address])
    height = int(told.partition("<title>")[2].partition("</title>")[0])
    picture = folder / "page.png"
    size = f"--window-size={WIDTH},{min(height, LONGEST)}"
    _said([*command, size, f"--screenshot={picture}", address])
    return with_palette(picture.read_bytes())


def _said(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def main() -> int:
    """Write the picture; status 4 without a browser."""
    parser = argparse.ArgumentParser(description="the README's picture of a job summary")
    parser.add_argument("--out", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None:
        sys.stderr.write("there is no chromium on this machine\n")
        return 4
    with tempfile.TemporaryDirectory() as folder:
        markdown = summary(Path(folder) / "run")
        picture = shoot(browser, page(markdown), Path(folder))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(picture)
    sys.stdout.write(f"{arguments.out}: {len(picture)} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
