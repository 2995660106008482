from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.matrix.lanes import required_checks
from pipeline.model.lane import (
    BundleSpec,
    CompressionMode,
    Flavour,
    Platform,
    Proof,
    SmokeSettings,
    Target,
    ToolkitOrigin,
)
from pipeline.model.versions import DriverVersion, GlibcVersion, ToolkitVersion
from tests.matrix.files import CPU, CUDA, lane, lanes, mistakes_with

if TYPE_CHECKING:
    from pathlib import Path


def test_a_cuda_lane_has_everything_its_combination_says(tmp_path: Path) -> None:
    made = lane(tmp_path, CUDA)
    assert made.id == "cuda12.8-sm80"
    assert made.bundle == BundleSpec("server", "1.0")
    assert (made.flavour, made.platform) == (Flavour.CUDA, Platform.X86_64)
    assert (made.toolkit, made.toolkit_origin) == (ToolkitVersion("12.8.1"), ToolkitOrigin.BASE_IMAGE)
    assert [arch.cmake for arch in made.archs] == ["80-real"]
    assert made.compression is CompressionMode.SPEED
    assert made.driver_floor == DriverVersion("525.60.13")
    assert made.targets == (Target(80, DriverVersion("535.288.01"), "A30", runner=("self-hosted", "a30")),)
    assert made.smoke == SmokeSettings(("bin/server", "{model}", "{port}"))
    assert made.base_image is not None
    assert made.base_image.name == "cuda"
    assert made.recipe is not None
    assert made.recipe.install == {"server": "bin/server"}
    assert not made.prebuilt
    assert not made.on_demand
    assert made.asset_name == "server-1.0-linux-x86_64-cuda12.8.tar.gz"


def test_architectures_may_be_in_any_dialect_and_are_cmakes_from_then_on(tmp_path: Path) -> None:
    torch = lane(tmp_path, CUDA.replace("80-real", "'8.0;9.0+PTX'"))
    assert torch.id == "cuda12.8-sm80-90"
    assert [arch.cmake for arch in torch.archs] == ["80-real", "90-real", "90-virtual"]
    gencode = "'-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]'"
    assert lane(tmp_path, CUDA.replace("80-real", gencode)).archs == torch.archs


def test_mixed_dialects_and_bare_numbers_are_told(tmp_path: Path) -> None:
    mixed = CUDA.replace("80-real", "8.0;90-real")
    (found,) = mistakes_with(tmp_path, f"matrix: {{include: [{mixed}]}}\n")
    assert found.startswith("'8.0;90-real' mixes dialects: '8.0' is torch's and '90-real' is CMake's; write such as ")
    number = CUDA.replace("80-real", "8.0")
    (found,) = mistakes_with(tmp_path, f"matrix: {{include: [{number}]}}\n")
    assert found == 'found the number 8.0; put it in quotes: "8.0"'


def test_a_cuda_lane_names_libraries_that_dispatch(tmp_path: Path) -> None:
    made = lane(tmp_path, CUDA[:-1] + ", by_design: ['libfa*.so'], never_by_design: [libk.so]}")
    assert (made.by_design, made.never_by_design) == (("libfa*.so",), ("libk.so",))
    (cpu,) = lanes(tmp_path, f"defaults: {{by_design: ['libfa*.so']}}\nmatrix: {{include: [{CPU}]}}\n")
    assert cpu.by_design == ()


def test_a_library_cannot_be_both(tmp_path: Path) -> None:
    both = CUDA[:-1] + ", by_design: [libk.so], never_by_design: [libk.so]}"
    (found,) = mistakes_with(tmp_path, f"matrix: {{include: [{both}]}}\n")
    assert found == "'libk.so' is in 'never_by_design' too; keep it in one of the two"


def test_required_checks_follow_flavour_and_required_targets(tmp_path: Path) -> None:
    assert lane(tmp_path, CPU).required == ("audit", "smoke@cpu")
    assert lane(tmp_path, CUDA).required == ("audit", "load@80@535.288.01", "smoke@80@535.288.01")
    optional = Target(80, DriverVersion("535.288.01"), suffices=Proof.INFERRED)
    assert required_checks(Flavour.CUDA, [optional]) == ("audit",)


def test_a_smoke_on_the_cpu_is_not_among_the_checks_of_a_gpu_target(tmp_path: Path) -> None:
    assert "smoke@cpu" not in lane(tmp_path, CUDA).required


def test_required_checks_can_be_said_and_bare_branches_are_resolved(tmp_path: Path) -> None:
    combination = CUDA.replace("targets: [a30]", "targets: [80@535], required: [audit, smoke@80@535]")
    assert lane(tmp_path, combination).required == ("audit", "smoke@80@535.54.03")


def test_a_bare_branch_is_its_first_toolkit_driver(tmp_path: Path) -> None:
    made = lane(tmp_path, CUDA.replace("525.60.13", "'525'").replace("[a30]", "[80@550]"))
    assert str(made.driver_floor) == "525.60.13"
    assert made.targets[0].label == "80@550.54.14"


def test_combinations_beat_flavours_beat_defaults(tmp_path: Path) -> None:
    rest = f"""
defaults: {{glibc: "2.28", platform: aarch64, on_demand: true, runner: [arm]}}
flavours: {{cpu: {{glibc: "2.31", on_demand: false}}}}
matrix:
  include:
    - {CPU[:-1]}, glibc: "2.36"}}
    - {CPU[:-1]}, id: other}}
    - {CUDA}
"""
    own, flavour, default = lanes(tmp_path, rest)
    assert [str(made.host_glibc) for made in (own, flavour, default)] == ["2.36", "2.31", "2.28"]
    assert [made.on_demand for made in (own, flavour, default)] == [False, False, True]
    assert own.platform is Platform.AARCH64
    assert own.runner == ("arm",)


def test_cuda_defaults_leave_cpu_lanes_alone(tmp_path: Path) -> None:
    defaults = "defaults: {toolkit: '12.8', archs: 80-real, targets: [a30], driver_floor: '525'}"
    (made,) = lanes(tmp_path, f"{defaults}\nmatrix: {{include: [{CPU}]}}")
    assert (made.toolkit, made.archs, made.targets, made.driver_floor) == (None, (), (), None)


def test_all_major_is_what_the_lanes_own_toolkit_means(tmp_path: Path) -> None:
    old = lane(tmp_path, CUDA.replace("80-real", "all-major"))
    new = lane(tmp_path, CUDA.replace("80-real", "all-major").replace("12.8.1", "13.0.2"))
    assert [arch.name for arch in old.archs] == ["50", "60", "70", "80", "90", "100", "120", "120"]
    assert [arch.name for arch in new.archs] == ["75", "80", "90", "100", "110", "120", "120"]


def test_a_prebuilt_cuda_lane_need_not_know_its_toolkit(tmp_path: Path) -> None:
    made = lane(tmp_path, "{flavour: cuda, source: bundle, smoke: server, driver_floor: '535', targets: [a30]}")
    assert made.prebuilt
    assert (made.id, made.toolkit, made.archs, made.recipe) == ("prebuilt-cuda", None, (), None)


def test_a_lane_knows_where_its_settings_stand(tmp_path: Path) -> None:
    made = lane(tmp_path, CUDA, "defaults: {glibc: '2.31'}\n")
    assert str(made.position) == f"{tmp_path}/matrix.yaml:16:20"
    assert str(made.place("archs")).endswith(":16:122")
    assert str(made.place("glibc")).endswith(":17:19")
    assert made.place("runner") == made.position


def test_glibc_and_host_libraries(tmp_path: Path) -> None:
    made = lane(
        tmp_path, f"{CPU[:-1]}, glibc: '2.31', host_libraries: [libgomp.so.1], bundle: {{name: b, version: '2'}}}}"
    )
    assert made.host_glibc == GlibcVersion("2.31")
    assert made.host_libraries == ("libgomp.so.1",)
    assert made.bundle == BundleSpec("b", "2")
    assert made.combination["bundle"] == "b 2"
