"""Compilers that never end, eat the memory or die: each is an outcome, in bounded time."""

from __future__ import annotations

import platform
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.jit.cuda import CudaTask
from pipeline.jit.judge import judge
from pipeline.jit.plan import Planner
from pipeline.jit.toolbox import Toolbox
from pipeline.rules.assembly import Ending
from tests import toolchain
from tests.jit.made import POLICY, compiled, from_cache, lane_of, said, verdicts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network
SOURCE = 'language: cuda, files: [k.cu], toolkits: ["12.6"]'
# Each level asks for two of the next: 2^26 instantiations.
EXPONENTIAL = """
template <int N, int K> struct Tree {
  static const int value = Tree<N - 1, 2 * K>::value + Tree<N - 1, 2 * K + 1>::value;
};
template <int K> struct Tree<0, K> { static const int value = 1; };
__global__ void k(int* o) { *o = Tree<26, 0>::value; }
"""
ENDLESS = """
template <int N> struct Deep { static const int value = Deep<N + 1>::value; };
__global__ void k(int* o) { *o = Deep<0>::value; }
"""


def test_endless_recursion_ends_at_the_compilers_depth(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(ENDLESS)
    report = compiled(tmp_path, SOURCE, "80@535")
    assert verdicts(report) == {"80@535.54.03": "fail"}
    assert "recurs" in said(report, "jit-compile")[0] or "depth" in said(report, "jit-compile")[0]


def test_exponential_templates_end_at_the_time_limit(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(EXPONENTIAL)
    started = time.monotonic()
    report = compiled(tmp_path, f"{SOURCE}, time_limit: 2", "80@535")
    assert time.monotonic() - started < 30
    assert verdicts(report) == {"80@535.54.03": "fail"}
    assert "NVRTC 12.6.85 took more than 2 s" in said(report, "jit-compile")[0]


def test_a_compiler_that_needs_too_much_memory_leaves_it_open(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(EXPONENTIAL)
    report = compiled(tmp_path, f"{SOURCE}, time_limit: 60, memory_limit: 300 MiB", "80@535")
    assert verdicts(report)["80@535.54.03"] in {"unknown", "fail"}
    assert said(report, "jit-compile")
    assert report.status == 1


STAND_IN = """
extern "C" int nvrtcCreateProgram(...) { return 0; }
extern "C" int nvrtcCompileProgram(...) { __builtin_trap(); }
"""


def test_a_compiler_that_dies_is_an_outcome(tmp_path: Path) -> None:
    """A stand-in for an NVRTC that crashes: no source was found that makes a released one do it."""
    (tmp_path / "k.cu").write_text("__global__ void k(int* o) { *o = 1; }\n")
    (tmp_path / "nvrtc.cc").write_text(STAND_IN)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", tmp_path / "libnvrtc.so", tmp_path / "nvrtc.cc"], check=True)
    tools = Toolbox(from_cache, toolchain.cache() / "jit", platform.machine(), POLICY)
    lane = lane_of(tmp_path, SOURCE, "80@535")
    (task,) = Planner(tools, lane.targets, None).plan(lane.jit_sources)
    assert isinstance(task, CudaTask)
    (tmp_path / "run").mkdir()
    died = replace(task, library=tmp_path / "libnvrtc.so").compile(tmp_path / "run")
    assert died.ending is Ending.CRASHED
    assert "NVRTC 12.6.85 was ended by SIG" in died.reason
    report = judge(lane, lane.targets, [died], POLICY)
    assert verdicts(report) == {"80@535.54.03": "fail"}


def test_one_that_dies_does_not_take_the_others_along(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(EXPONENTIAL)
    (tmp_path / "b.cu").write_text("__global__ void k(int* o) { *o = 1; }\n")
    source = 'language: cuda, files: ["*.cu"], toolkits: ["12.6"], time_limit: 2'
    report = compiled(tmp_path, source, "80@535")
    assert [each.ending.value for each in report.compilations] == ["time-limit", "accepted"]
