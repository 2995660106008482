"""The kernel table fits the terminal: a table where there is room, a line for each group where there is none."""

from __future__ import annotations

from pipeline.audit.kernels import KernelGroup
from pipeline.model.paths import MemberPath
from pipeline.report.kernels_text import kernels_text

ARCHS = tuple(f"sm_{number}" for number in (60, 70, 75, 80, 86, 89, 90, 100, 103, 120))
LIBRARY = MemberPath(("lib.so",))
WHOLE = KernelGroup(LIBRARY, "gemm_4bit", 24, tuple((arch, 24) for arch in ARCHS), 76, 0)
PARTIAL = KernelGroup(LIBRARY, "x\x1b[2Jy", 3, (("sm_60", 1), *((arch, 3) for arch in ARCHS[2:])), None, 64)


def test_a_log_gets_the_table() -> None:
    lines = kernels_text((WHOLE, PARTIAL)).splitlines()
    assert lines[1].split() == [*ARCHS, "regs", "shared", "kernel"]
    assert lines[2].split()[:2] == ["1", "-"]


def test_a_terminal_that_is_too_narrow_gets_lines() -> None:
    text = kernels_text((WHOLE, PARTIAL), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[2:5] == [
        r"     3 x x\x1b[2Jy  (64 bytes shared)",
        "         but sm_60 1, sm_70 none",
        "    24 x gemm_4bit  (76 registers, 0 bytes shared)",
    ]
