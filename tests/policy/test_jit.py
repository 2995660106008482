from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pipeline.model.versions import ToolkitVersion
from pipeline.policy import Policy, load_policy
from pipeline.policy.jit import FeatureLanguage, Part
from pipeline.policy.tables import FOLDER
from pipeline.policy.unknown import InconsistentTables, UnknownCompiler

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("ld.global.L1::no_allocate.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];", {"70"}),
        ("tanh.approx.f32 %f1, %f2;", {"75"}),
        ("atom.acq_rel.gpu.global.add.s32 %r1, [%rd1], 1;", {"70"}),
        ("@%p1 atom.global.gpu.acq_rel.add.f32 %r1, [%rd1], %r2;", {"70"}),
        ("atom.global.sys.add.u32 %r0, [%rd0], %r1;", {"60"}),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16;", {"80"}),
        ("redux.sync.add.s32 %r0, %r1, -1;", {"80"}),
        ("createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;", {"80"}),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r4}, {%f0};", {"80"}),
        ("cvt.rn.bf16.f32 %h0, %f0;", {"80"}),
        ("wgmma.fence.sync.aligned;", {"90a"}),
        ("cvta.param.u64 %rd0, param;", {"70"}),
        ("ld.global.f32 %f1, [%rd1];", set()),
    ],
)
def test_an_instruction_and_the_architecture_that_has_it_first(policy: Policy, line: str, first: set[str]) -> None:
    assert {row.first.name for row in policy.jit.used_in(line, FeatureLanguage.PTX)} == first


def test_a_construct_is_known_by_the_compilers_words(policy: Policy) -> None:
    said = "k.cu(1): error: __grid_constant__ annotation is only allowed for architecture compute_70 or later"
    assert [row.first.name for row in policy.jit.used_in(said, FeatureLanguage.CUDA)] == ["70"]


def test_a_compiler_by_toolkit_and_machine(policy: Policy) -> None:
    assert policy.jit.wheel(Part.NVRTC, ToolkitVersion("12.6.3"), "x86_64").version == "12.6.85"
    assert policy.jit.has(Part.CRT, ToolkitVersion("13.0"), "aarch64")
    assert not policy.jit.has(Part.CRT, ToolkitVersion("12.6"), "x86_64")
    with pytest.raises(UnknownCompiler, match=r"no wheel has nvrtc of CUDA 12\.7") as refused:
        policy.jit.wheel(Part.NVRTC, ToolkitVersion("12.7"), "x86_64")
    assert "12.6, 12.8" in str(refused.value)


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("ptx_features", "tanh.approx.f32,ptx", "tanh.approx.f32,spirv"),
        ("ptx_features", r"\btanh\.approx\.f32\b", r"\btanh\.exact\.f32\b"),
        ("ptx_features", ",75,7.0,", ",74,7.0,"),
        ("ptx_features", ",75,7.0,", ",later,7.0,"),
        ("jit_wheels", "nvrtc,12.6,x86_64", "nvrtc,12.5,x86_64"),
        ("jit_wheels", "nvrtc,12.6,x86_64", "nvrtc,12.6,riscv64"),
        ("jit_wheels", "nvrtc,", "nvcc,"),
    ],
)
def test_a_row_that_contradicts_others_is_refused(tmp_path: Path, table: str, old: str, new: str) -> None:
    shutil.copytree(FOLDER, tmp_path / "tables")
    path = tmp_path / "tables" / f"{table}.csv"
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InconsistentTables):
        load_policy(tmp_path / "tables")
