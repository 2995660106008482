"""The two public failures: a torch of one CUDA beside a compiler of another, and kernels that one library lacks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from pipeline.audit import audit_artifacts, run_audit
from pipeline.audit.shown import show
from pipeline.build.settings import Network
from pipeline.environments.resolve import LockSettings, read_locked
from pipeline.environments.wheels import Installer
from pipeline.inventory import take_inventory
from pipeline.model.finding import Verdict
from pipeline.policy import Policy, load_policy
from pipeline.report.audit_json import audit_json
from pipeline.report.audit_text import audit_text
from pipeline.report.show_text import show_text
from tests import toolchain
from tests.environments.places import SITE, Package, environment
from tests.rules.cases import entry, image
from tests.rules.forge import Elf, container, pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
ROOT = Path(__file__).resolve().parents[2]
NVCC_12, NVCC_13 = "nvidia-cuda-nvcc-cu12==12.6.85", "nvidia-cuda-nvcc==13.0.88"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def audited(path: Path, policy: Policy, *targets: str, kernels: bool = False) -> AuditReport:
    return run_audit([path], [policy.parse_target(target) for target in targets], policy, kernels=kernels)


def mixed(report: AuditReport, severity: str = "error") -> list[str]:
    return [item.observed for item in report.findings if item.rule == "toolkit-mix" and item.severity == severity]


def installed(venv: Path, requirement: str) -> Path:
    """A real wheel, by hard links: what an installer would write."""
    source = toolchain.unpacked(requirement)
    for path in source.rglob("*"):
        place = venv / SITE / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, place)
    return venv


def torch(major: int, version: str = "2.9.0") -> tuple[Package, Package]:
    """A torch of that CUDA major, and the runtime that it links."""
    toolkit = {12: "12.8", 13: "13.0"}[major]
    runtime = f"libcudart.so.{major}"
    library = Elf("libc10_cuda.so", [container(toolkit, "80")], needed=[runtime], runpath="$ORIGIN/../../nvidia")
    name = "nvidia-cuda-runtime-cu12" if major == 12 else "nvidia-cuda-runtime"
    return Package("torch", version, [library], "torch/lib"), Package(name, f"{toolkit}.1", [Elf(runtime)], "nvidia")


# FreeToken: the CUDA 13 torch beside a CUDA 12.6 toolchain, with NVIDIA's own compilers and their real metadata


@pytest.mark.parametrize(("major", "compiler"), [(13, NVCC_12), (12, NVCC_13)])
def test_a_compiler_of_another_major_than_torch_fails(
    tmp_path: Path, policy: Policy, major: int, compiler: str
) -> None:
    report = audited(installed(environment(tmp_path, torch(major)), compiler), policy, "80@580")
    assert report.verdict is Verdict.FAIL
    assert report.targets[0].causes == ("toolkit-mix",)
    assert report.distributions[0].distribution.name == compiler.partition("==")[0]
    assert "torch refuses to build extensions" in mixed(report)[0]


@pytest.mark.parametrize(("major", "compiler"), [(12, NVCC_12), (13, NVCC_13)])
def test_a_compiler_of_torchs_own_major_passes(tmp_path: Path, policy: Policy, major: int, compiler: str) -> None:
    report = audited(installed(environment(tmp_path, torch(major)), compiler), policy, "80@580")
    assert report.verdict is Verdict.PASS
    assert mixed(report) == mixed(report, "warning") == []


def test_an_extension_of_torch_must_be_of_its_major(tmp_path: Path, policy: Policy) -> None:
    def extension(runtime: str) -> Package:
        needed = ["libc10_cuda.so", runtime]
        return Package("extension", elves=[Elf("_C.so", [container("12.8", "80")], needed=needed)])

    wrong = audited(environment(tmp_path / "wrong", [*torch(13), extension("libcudart.so.12")]), policy, "80@580")
    right = audited(environment(tmp_path / "right", [*torch(13), extension("libcudart.so.13")]), policy, "80@580")
    assert mixed(wrong) == ["extension 1.0 is an extension of torch built for CUDA 12"]
    assert mixed(right) == []


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Elf("libcublas.so.13"), "carries libcublas.so.13 of CUDA 13"),
        (lambda: Elf("libk.so", needed=["libcudart.so.13"]), "links libcudart.so.13 of CUDA 13"),
        (lambda: Elf("libcudart-0a1b2c3d.so.13.0.96"), "carries libcudart-0a1b2c3d.so.13.0.96 of CUDA 13"),
    ],
)
def test_a_name_that_says_another_major_than_its_libraries(
    tmp_path: Path, policy: Policy, make: Callable[[], Elf], said: str
) -> None:
    wrong = audited(environment(tmp_path / "wrong", [Package("kernels-cuda12", elves=[make()])]), policy, "80@580")
    right = audited(environment(tmp_path / "right", [Package("kernels-cuda13", elves=[make()])]), policy, "80@580")
    assert mixed(wrong) == [f"kernels-cuda12 1.0 {said}"]
    assert mixed(right) == []


def test_windows_libraries_tell_by_their_names(tmp_path: Path, policy: Policy) -> None:
    package = Package("kernels-cuda12", files={"kernels/cublas64_13.dll": "MZ"})
    assert "cublas64_13.dll of CUDA 13" in mixed(audited(environment(tmp_path, [package]), policy, "80@580"))[0]


def test_majors_that_only_stand_side_by_side_are_warnings(tmp_path: Path, policy: Policy) -> None:
    other = Package("cupy-cuda12x", elves=[Elf("libother.so", [container("12.8", "80")])])
    report = audited(environment(tmp_path, [*torch(13), other]), policy, "80@580")
    assert report.verdict is Verdict.PASS
    assert mixed(report, "warning") == ["cupy-cuda12x 1.0 is of CUDA 12"]


def test_a_toolkit_outside_of_all_distributions_is_a_warning(tmp_path: Path, policy: Policy) -> None:
    venv = environment(tmp_path, torch(13))
    (venv / "usr/local/cuda-12.6/bin").mkdir(parents=True)
    (venv / "usr/local/cuda-12.6/bin/nvcc").write_bytes(b"\x7fELF")
    report = audited(venv, policy, "80@580")
    assert mixed(report, "warning") == ["cuda-12.6 is of CUDA 12"]


def test_one_package_with_builds_for_several_majors_agrees_with_each(tmp_path: Path, policy: Policy) -> None:
    elves = [Elf(f"libk_cuda{major}0.so", needed=[f"libcudart.so.{major}"]) for major in (12, 13)]
    report = audited(environment(tmp_path, [*torch(13), Package("several", elves=elves)]), policy, "80@580")
    assert mixed(report) == mixed(report, "warning") == []


# MLC-LLM on a Tesla P100: a stand-in with the same fault, for the wheels are in no package index. The model's own
# library has sm_60, the runtime's Thrust kernels begin at sm_70: dense models run, a mixture of experts dies in a scan.

BOTH = {"dense": "61 80", "moe": "70 80"}
SCAN = "_ZN6thrust8cuda_cub4core13_kernel_agentINS0_6__scan9ScanAgentEEEvT_"
DENSE = "_Z12dense_matmulPfS_S_"


def mlc(folder: Path, runtime: tuple[str, ...]) -> Path:
    model = pack([image("60", entry(DENSE)), image("80", entry(DENSE))], "12.8")
    scan = pack([image(arch, entry(SCAN)) for arch in runtime], "12.8")
    packages = [
        Package("model-lib", "1.0", [Elf("libmodel.so", [model], strings=[DENSE])]),
        Package("mlc-ai", "0.20", [Elf("libtvm.so", [scan], strings=[SCAN])], "tvm"),
    ]
    return environment(folder, packages)


def test_the_scan_hole_is_found_and_the_dense_kernels_are_not_blamed(tmp_path: Path, policy: Policy) -> None:
    report = audited(mlc(tmp_path, ("70", "80")), policy, "60@535", "80@535", kernels=True)
    assert [target.verdict for target in report.targets] == [Verdict.FAIL, Verdict.PASS]
    assert [item.distribution.name for item in report.distributions] == ["mlc-ai", "model-lib"]
    (finding,) = [item for item in report.findings if item.rule == "arch-missing"]
    assert len(finding.kernels) == 1
    assert "thrust" in finding.kernels[0]
    text = audit_text(report)
    head = text.splitlines()
    assert "fails: mlc-ai 0.20 (arch-missing)" in "\n".join(head[:8])
    assert "  dies  thrust::" in text
    assert "dense_matmul" not in text
    (coverage,) = [line for line in head if line.startswith("libtvm.so")]
    assert coverage.split() == ["libtvm.so", "FAILS", "sm_70", "80"]


def test_its_healthy_twin_passes(tmp_path: Path, policy: Policy) -> None:
    report = audited(mlc(tmp_path, ("60", "80")), policy, "60@535", "80@535", kernels=True)
    assert report.verdict is Verdict.PASS
    assert "library  " not in audit_text(report)


def test_without_kernels_the_table_says_how_to_learn_them(tmp_path: Path, policy: Policy) -> None:
    """All of an environment takes minutes, the one library that fails seconds."""
    venv = mlc(tmp_path, ("70", "80"))
    (said,) = [line for line in audit_text(audited(venv, policy, "60@535")).splitlines() if "--kernels" in line]
    words, _, library = said.partition(", fastest of one library: ")
    assert words == "--kernels names the kernels that die"
    assert Path(library) == venv / SITE / "tvm" / "libtvm.so"
    (finding,) = [item for item in audited(Path(library), policy, "60@535", kernels=True).findings if item.kernels]
    assert "thrust" in finding.kernels[0]


def test_libraries_of_one_name_are_told_apart(tmp_path: Path, policy: Policy) -> None:
    packages = [Package(name, "1.0", [Elf("lib_C.so", [container("12.0", archs)])]) for name, archs in BOTH.items()]
    text = audit_text(audited(environment(tmp_path, packages), policy, "61@535"))
    assert [line.split()[:2] for line in text.splitlines() if "lib_C.so  " in line] == [
        ["moe/lib_C.so", "FAILS"],
        ["dense/lib_C.so", "native"],
    ]


def test_tables_that_are_wider_than_a_terminal_become_blocks(tmp_path: Path, policy: Policy) -> None:
    report = audited(mlc(tmp_path, ("70", "80")), policy, "60@535", "80@535", "90@550", "120@570")
    whole, narrow = audit_text(report), audit_text(report, width=80)
    assert [line for line in whole.splitlines() if line.startswith("distribution  ") and len(line) > 80]
    for line in narrow.splitlines():
        assert len(line) <= 80 or line.lstrip().startswith(("at  ", "--kernels")) or str(tmp_path) in line, line
    _, _, runtime = narrow.partition("\nmlc-ai 0.20\n")
    assert runtime.splitlines()[1].split() == ["60@535.54.03", "FAIL", "arch-missing", "(no", "driver)"], runtime


def test_show_has_a_row_for_each_library_where_they_differ(tmp_path: Path, policy: Policy) -> None:
    def table(folder: str, archs: tuple[str, ...]) -> list[list[str]]:
        inventory = take_inventory(mlc(tmp_path / folder, archs))
        lines = show_text(show((inventory,), policy)).splitlines()
        return [line.split() for line in lines if line.startswith(("on the newest", "lib"))]

    head, model, runtime = table("hole", ("70", "80"))
    sixty = head.index("60") - len(head)
    assert (model[sixty], runtime[sixty]) == ("C", "-")
    assert table("whole", ("60", "80")) == []


def test_the_document_is_what_the_schema_says(tmp_path: Path, policy: Policy) -> None:
    schema = json.loads((ROOT / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
    document = json.loads(audit_json(audited(mlc(tmp_path, ("70", "80")), policy, "60@535", "80@535", kernels=True)))
    jsonschema.validate(document, schema)
    worst = document["distributions"][0]
    assert (worst["name"], worst["verdicts"]["60@535.54.03"]["verdict"]) == ("mlc-ai", "fail")
    assert worst["toolkits"] == ["12.8"]
    assert worst["minimum_driver"]["60"] == {"driver": None, "reason": "none"}
    assert [row["targets"]["60@535.54.03"] for row in document["libraries"]] == ["native", "fails"]


@pytest.mark.slow
@pytest.mark.parametrize(("version", "verdict"), [("2.14.1", Verdict.FAIL), ("2.8.0", Verdict.PASS)])
def test_released_extensions_beside_released_torches(
    tmp_path: Path, policy: Policy, version: str, verdict: Verdict
) -> None:
    """Extensions built for CUDA 12 beside torch for CUDA 13, and beside the torch that they were built for."""
    pins = (f"torch=={version}", "torchvision==0.23.0", "xformers==0.0.32.post2")
    folders = "".join(f"--find-links {toolchain.wheel(pin).parent}\n" for pin in pins)
    lock = tmp_path / "requirements.txt"
    lock.write_text("--no-index\n" + folders + "\n".join(pins) + "\n")
    settings = LockSettings(Installer((3, 11), "x86_64"), Network(), lambda _line: None)
    report = audit_artifacts([read_locked(lock, settings)], [policy.parse_target("80@580")], None, None, policy)
    assert report.verdict is verdict
    failing = [item.distribution.name for item in report.distributions if item.verdicts[0].verdict is Verdict.FAIL]
    assert failing == (["torchvision", "xformers"] if verdict is Verdict.FAIL else [])
