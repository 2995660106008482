"""CUDA C++ through NVRTC for GPUs that are not here: the Pascal constructs one by one, each with its healthy twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.jit.made import compiled, said, verdicts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network
PASCAL_AND_LATER = "61@535.288.01, 75@535.288.01"

GRID_CONSTANT = """
struct Tile { float values[8]; };
#if __CUDA_ARCH__ >= 700 || defined(UNGUARDED)
#define GRID_CONSTANT const __grid_constant__
#else
#define GRID_CONSTANT const
#endif
extern "C" __global__ void scale(GRID_CONSTANT Tile tile, float* out) {
  out[threadIdx.x] = tile.values[threadIdx.x & 7];
}
"""
NO_ALLOCATE = """
__device__ __forceinline__ float stream(const float* from) {
  float value;
#if __CUDA_ARCH__ >= 700 || defined(UNGUARDED)
  asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(from));
#else
  value = *from;
#endif
  return value;
}
extern "C" __global__ void copy(const float* from, float* out) { out[threadIdx.x] = stream(from + threadIdx.x); }
"""
TANH = """
extern "C" __global__ void gelu(float* out) {
  float value = out[threadIdx.x];
#if __CUDA_ARCH__ >= 750 || defined(UNGUARDED)
  asm("tanh.approx.f32 %0, %0;" : "+f"(value));
#else
  value = tanhf(value);
#endif
  out[threadIdx.x] = value;
}
"""
SCOPED = """
extern "C" __global__ void signal(int* flag) {
#if __CUDA_ARCH__ >= 700 || defined(UNGUARDED)
  int before;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(flag) : "memory");
#else
  __threadfence();
  atomicAdd(flag, 1);
#endif
}
"""
CONSTRUCTS = {
    "grid_constant": (GRID_CONSTANT, "__grid_constant__", "70", "#if __CUDA_ARCH__ >= 700", ":8: "),
    "no_allocate": (NO_ALLOCATE, "ld.global.L1::no_allocate.f32", "70", "#if __CUDA_ARCH__ >= 700", ":5: "),
    "tanh": (TANH, "tanh.approx.f32", "75", "#if __CUDA_ARCH__ >= 750", ":5: "),
    "scoped": (SCOPED, "atom.acq_rel.gpu.global.add.s32", "70", "#if __CUDA_ARCH__ >= 700", ":5: "),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
@pytest.mark.parametrize("toolkit", ["11.8", "12.6"])
def test_a_construct_that_pascal_lacks_is_named_with_line_sm_and_guard(tmp_path: Path, name: str, toolkit: str) -> None:
    text, instruction, first, guard, line = CONSTRUCTS[name]
    (tmp_path / "k.cu").write_text(text)
    report = compiled(
        tmp_path,
        f'language: cuda, files: [k.cu], toolkits: ["{toolkit}"], defines: {{UNGUARDED: "1"}}',
        PASCAL_AND_LATER,
    )
    assert verdicts(report) == {"61@535.288.01": "fail", "75@535.288.01": "pass"}
    (found,) = [each for each in report.findings if each.severity == "error"]
    assert found.rule == "jit-feature"
    assert found.targets == ("61@535.288.01",)
    assert instruction in found.observed
    assert f"sm_{first} is the first that has it" in found.observed
    assert guard in found.remedy
    assert f"{found.path}: " == f"k.cu{line}"


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_its_healthy_twin_passes(tmp_path: Path, name: str) -> None:
    (tmp_path / "k.cu").write_text(CONSTRUCTS[name][0])
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["12.6"]', PASCAL_AND_LATER)
    assert verdicts(report) == {"61@535.288.01": "pass", "75@535.288.01": "pass"}
    assert report.findings == ()
    assert all(kernel.registers for each in report.compilations for kernel in each.kernels)


TILE = """
#ifdef STATIC
extern "C" __global__ void tile(float* out) {
  __shared__ float rows[BYTES / 4];
#else
extern __shared__ float rows[];
extern "C" __global__ void tile(float* out) {
#endif
  rows[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = rows[(threadIdx.x * 7) % (BYTES / 4)];
}
"""
EVERY_SIZE = "61@580, 70@580, 75@580, 80@580, 86@580, 90@580"


def test_a_tile_that_a_launch_asks_for_is_held_against_each_gpu(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TILE)
    report = compiled(
        tmp_path,
        'language: cuda, files: [k.cu], toolkits: ["12.6"], defines: {BYTES: "98304"}, dynamic_shared: 96 KiB',
        EVERY_SIZE,
    )
    assert [row.verdict.value for row in report.targets] == ["fail", "pass", "fail", "pass", "pass", "pass"]
    errors = [each for each in report.findings if each.severity == "error"]
    assert {each.rule for each in errors} == {"dynamic-shared-memory"}
    assert "98304 bytes" in errors[0].observed
    assert "at most 49152 on sm_61" in errors[0].observed
    assert "at most 65536 on sm_75" in errors[1].observed
    assert {row.errors for row in report.targets} == {("CUDA_ERROR_INVALID_VALUE",), ()}
    notes = [each for each in report.findings if each.severity == "note"]
    assert all("cudaFuncAttributeMaxDynamicSharedMemorySize, 98304" in each.remedy for each in notes)
    assert len({label for each in notes for label in each.targets}) == 4


def test_a_static_tile_fits_no_gpu(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TILE)
    source = 'language: cuda, files: [k.cu], toolkits: ["12.6"], defines: {STATIC: "1", BYTES: "65536"}'
    report = compiled(tmp_path, source, EVERY_SIZE)
    assert "pass" not in verdicts(report).values()
    assert {each.rule for each in report.findings} == {"static-shared-memory"}
    assert all("extern __shared__" in each.remedy for each in report.findings)


def test_a_small_tile_needs_nothing(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TILE)
    source = 'language: cuda, files: [k.cu], toolkits: ["12.6"], defines: {STATIC: "1", BYTES: "49152"}'
    report = compiled(tmp_path, source, EVERY_SIZE)
    assert set(verdicts(report).values()) == {"pass"}
    assert report.findings == ()


def test_a_toolkit_that_dropped_the_gpu_is_the_cause(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TANH)
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["13.0"]', "61@580, 75@580")
    assert verdicts(report) == {"61@580.65.06": "fail", "75@580.65.06": "pass"}
    assert [each.rule for each in report.findings] == ["toolkit-arch"]
    assert "CUDA 13.0 compiles for sm_75 and up" in report.findings[0].observed


def test_machine_code_of_a_newer_major_is_for_newer_drivers(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TANH)
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["13.0"]', "75@535, 75@580")
    assert verdicts(report) == {"75@535.54.03": "fail", "75@580.65.06": "pass"}
    assert [each.rule for each in report.findings] == ["toolkit-major"]


def test_ptx_of_a_newer_toolkit_is_for_newer_drivers(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TANH)
    source = 'language: cuda, files: [k.cu], toolkits: ["12.6"], output: ptx'
    report = compiled(tmp_path, source, "75@535, 75@580")
    assert verdicts(report) == {"75@535.54.03": "fail", "75@580.65.06": "pass"}
    assert [each.rule for each in report.findings] == ["ptx-isa"]


def test_an_identifier_that_no_table_knows_is_tried_on_later_gpus(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "#if __CUDA_ARCH__ >= 890\n#define NEEDS(x) x\n#endif\n__global__ void k(int* o) { *o = NEEDS(1); }\n"
    )
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["12.6"]', "80@535, 89@535")
    assert verdicts(report) == {"80@535.54.03": "fail", "89@535.54.03": "pass"}
    assert "sm_89 is the first that has it" in said(report, "jit-feature")[0]


def test_a_source_that_compiles_nowhere_is_no_matter_of_gpus(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text('#include "missing.h"\n__global__ void k() {}\n')
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["12.6"]', "80@535, 89@535")
    assert set(verdicts(report).values()) == {"fail"}
    assert "missing.h" in said(report, "jit-compile")[0]
    assert len(report.findings) == 1


def test_templates_need_instances(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("template <int N> __global__ void k(int* o) { *o = N; }\n")
    source = 'language: cuda, files: [k.cu], toolkits: ["12.6"]'
    assert "instances" in said(compiled(tmp_path, source, "80@535"), "jit-compile")[0]
    assert set(verdicts(compiled(tmp_path, f'{source}, instances: ["k<4>"]', "80@535")).values()) == {"pass"}


GUARDED_AWAY = """
extern "C" __global__ void dense(float* x) { x[0] = 1; }
#if __CUDA_ARCH__ >= 700
extern "C" __global__ void scan(float* x) { x[0] = 2; }
#endif
"""
ITS_BODY = """
extern "C" __global__ void dense(float* x) { x[0] = 1; }
extern "C" __global__ void scan(float* x) {
#if __CUDA_ARCH__ >= 700
  x[0] = 2;
#endif
}
"""
BY_TYPE = """
template <int Arch> __device__ void of(float* x) { x[0] = Arch; }
template <int Arch> __global__ void scan(float* x) { of<Arch>(x); }
#if __CUDA_ARCH__ >= 700
template __global__ void scan<70>(float*);
#else
template __global__ void scan<60>(float*);
#endif
"""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [(GUARDED_AWAY, "unknown"), (ITS_BODY, "pass"), (BY_TYPE, "pass")],
    ids=["the kernel", "its body", "an instance"],
)
def test_a_kernel_that_is_guarded_away_on_one_gpu(tmp_path: Path, text: str, verdict: str) -> None:
    """The P100's failure once more: it compiles, and the first launch finds no such symbol."""
    (tmp_path / "k.cu").write_text(text)
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["12.6"]', PASCAL_AND_LATER)
    assert list(verdicts(report).values()) == [verdict, "pass"]
    if verdict == "unknown":
        (told,) = said(report, "kernel-missing")
        assert "no scan comes out for sm_61, as it does for sm_75" in told


def test_headers_of_the_product_and_of_cuda(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "tile.h").write_text("#include <cuda_fp16.h>\n#define TILE __float2half(1.0f)\n")
    (tmp_path / "k.cu").write_text('#include "tile.h"\n__global__ void k(__half* o) { *o = TILE; }\n')
    for toolkit in ("11.8", "12.6", "13.0"):
        source = f'language: cuda, files: [k.cu], include: [include], toolkits: ["{toolkit}"]'
        assert set(verdicts(compiled(tmp_path, source, "80@580")).values()) == {"pass"}, toolkit


def test_an_error_in_a_header_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "deep.h").write_text(
        TANH.split("extern", maxsplit=1)[0] + "\n\n__device__ int f() { return nothing; }\n"
    )
    (tmp_path / "k.cu").write_text('#include "deep.h"\n__global__ void k(int* o) { *o = f(); }\n')
    source = 'language: cuda, files: [k.cu], include: [include], toolkits: ["12.6"]'
    assert said(compiled(tmp_path, source, "80@535"), "jit-compile")[0].startswith("include/deep.h:4: ")


def test_specific_code_is_asked_for_where_the_gpu_has_it(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }\n')
    source = 'language: cuda, files: [k.cu], toolkits: ["12.6"]'
    bad = compiled(tmp_path, source, "80@535, 90@535")
    assert set(verdicts(bad).values()) == {"fail"}
    assert any("compile for sm_90a there (arch_suffix: a)" in each for each in said(bad, "jit-feature"))
    assert any("__CUDA_ARCH_FEAT_SM90_ALL" in each for each in said(bad, "jit-feature"))
    good = compiled(tmp_path, f"{source}, arch_suffix: a, from_sm: 90", "90@535")
    assert set(verdicts(good).values()) == {"pass"}


def test_a_gpu_for_which_nothing_is_compiled_is_not_a_pass(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TANH)
    report = compiled(tmp_path, 'language: cuda, files: [k.cu], toolkits: ["12.6"], from_sm: 80', "75@535, 80@535")
    assert verdicts(report) == {"75@535.54.03": "unknown", "80@535.54.03": "pass"}
    assert report.status == 1
