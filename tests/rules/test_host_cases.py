"""Artifacts whose device code is right and which fail on a user's machine all the same, each with its healthy twin."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.model.finding import Severity
from pipeline.model.lane import Target
from pipeline.model.versions import DriverVersion
from pipeline.policy import Policy, load_policy
from pipeline.rules.declaration import HostFloor
from tests.build.lanes import BOOKWORM
from tests.rules.forge import Elf, build, container
from tests.rules.saved import save_image

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
COMPAT = "usr/local/cuda-13.0/compat"
FIRST = ("etc/ld.so.conf.d/00-compat.conf", f"/{COMPAT}\n")
LAST = ("etc/ld.so.conf.d/zz-compat.conf", f"/{COMPAT}\n")
DEBIAN = ("etc/ld.so.conf.d/x86_64-linux-gnu.conf", "/usr/local/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def audited(path: Path, sm: int, driver: str, policy: Policy, gpu: str | None = None) -> AuditReport:
    return run_audit([path], [Target(sm, DriverVersion(driver), gpu)], policy)


def observed(report: AuditReport, rule: str) -> str:
    return " / ".join(finding.observed for finding in report.findings if finding.rule == rule)


def kernels(root: Path, *needed: str, toolkit: str = "12.8", sm: str = "80", **more: str) -> None:
    elf = Elf("libk.so", [container(toolkit, sm)], needed=[*needed, "libc.so.6"], **more)  # type: ignore[arg-type]
    build(elf, root)


def rootfs(folder: Path, *confs: tuple[str, str], shim: str = "580.65.06") -> Path:
    root = folder / "rootfs"
    build(Elf(f"libcuda.so.{shim}", soname="libcuda.so.1", exports=["cuInit"]), root / COMPAT)
    (root / COMPAT / "libcuda.so.1").symlink_to(f"libcuda.so.{shim}")
    for name, text in confs:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    kernels(root / "app", "libcuda.so.1")
    return root


def test_libcublas_of_the_wrong_major(tmp_path: Path, policy: Policy) -> None:
    for major in ("13", "12"):
        root = tmp_path / major
        kernels(root, "libcublas.so.12", runpath="$ORIGIN")
        build(Elf(f"libcublas.so.{major}"), root)
    report = audited(tmp_path / "13", 80, "580.65.06", policy)
    assert report.targets[0].causes == ("needed-library",)
    assert observed(report, "needed-library") == "needs libcublas.so.12; the artifact has libcublas.so.13 instead"
    assert audited(tmp_path / "12", 80, "580.65.06", policy).targets[0].verdict == "pass"


def test_an_asset_named_cuda12_that_links_cublas_13(tmp_path: Path, policy: Policy) -> None:
    for name, cublas in (("server-1.0-linux-x86_64-cuda12", "13"), ("server-1.0-linux-x86_64-cuda13", "13")):
        root = tmp_path / name
        kernels(root, f"libcublas.so.{cublas}", toolkit="13.0", runpath="$ORIGIN")
        build(Elf(f"libcublas.so.{cublas}"), root)
    report = audited(tmp_path / "server-1.0-linux-x86_64-cuda12", 80, "580.65.06", policy)
    assert report.targets[0].causes == ("toolkit-mismatch",)
    assert "linked with libcublas.so.13 of CUDA 13" in observed(report, "toolkit-mismatch")
    assert audited(tmp_path / "server-1.0-linux-x86_64-cuda12", 80, "550.54.14", policy).targets[0].causes[0] == (
        "toolkit-major"
    )
    assert audited(tmp_path / "server-1.0-linux-x86_64-cuda13", 80, "580.65.06", policy).targets[0].verdict == "pass"


@pytest.mark.parametrize(
    ("case", "verdict", "error"),
    [
        (((FIRST, DEBIAN), "595.45.04", "H100"), "fail", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (((FIRST, DEBIAN), "580.95.05", "H100"), "fail", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (((FIRST, DEBIAN), "580.65.06", "H100"), "pass", ""),
        (((LAST, DEBIAN), "595.45.04", "H100"), "pass", ""),
        (((DEBIAN,), "595.45.04", "H100"), "pass", ""),
        (((FIRST, DEBIAN), "535.288.01", "H100"), "pass", ""),
        (((DEBIAN,), "535.288.01", "H100"), "pass", ""),
        (((DEBIAN,), "535.288.01", "RTX 4090"), "fail", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (((DEBIAN,), "535.288.01", "A30 MIG 1g.6gb"), "unknown", ""),
        (((FIRST, DEBIAN), "535.288.01", "H100 MIG 1g.10gb"), "unknown", ""),
        (((FIRST, DEBIAN), "595.45.04", "H100 MIG 1g.10gb"), "fail", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    ],
)
def test_a_compat_folder(
    case: tuple[tuple[tuple[str, str], ...], str, str], verdict: str, error: str, tmp_path: Path, policy: Policy
) -> None:
    confs, driver, gpu = case
    report = audited(rootfs(tmp_path, *confs), 89 if "RTX" in gpu else 80, driver, policy, gpu)
    assert report.targets[0].verdict == verdict, report.findings
    assert report.targets[0].errors == ((error,) if error else ())
    assert report.targets[0].causes == (() if verdict == "pass" else ("compat-shim",))


def test_a_compat_folder_on_a_run_path_or_in_the_environment(tmp_path: Path, policy: Policy) -> None:
    root = rootfs(tmp_path / "one", DEBIAN)
    kernels(root / "opt", "libcuda.so.1", runpath=f"/{COMPAT}")
    report = audited(root, 80, "595.45.04", policy)
    assert "put first by the search path of opt/libk.so" in observed(report, "compat-shim")
    shim = rootfs(tmp_path / "two", DEBIAN)
    image = save_image([shim], tmp_path / "image.tar", {"LD_LIBRARY_PATH": f"/usr/local/nvidia/lib:/{COMPAT}"})
    report = audited(image, 80, "595.45.04", policy)
    assert "put first by LD_LIBRARY_PATH of the image" in observed(report, "compat-shim")
    assert report.targets[0].causes == ("compat-shim",)


@pytest.mark.parametrize(
    ("environment", "gpu", "verdict"),
    [
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8"}, None, "fail"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8", "NVIDIA_DISABLE_REQUIRE": "1"}, None, "pass"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=535,driver<536"}, "RTX 3090", "fail"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=535,driver<536"}, None, "unknown"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=535 brand=nvidia,driver>=535"}, "A30", "pass"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.0", "NVIDIA_REQUIRE_DRIVER": "driver>=550"}, None, "fail"),
        ({"CUDA_VERSION": "12.8.1"}, None, "fail"),
        ({"CUDA_VERSION": "12.8.1", "NVIDIA_REQUIRE_CUDA": "cuda>=12.0"}, None, "pass"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda~12"}, None, "fail"),
    ],
)
def test_an_image_that_refuses_an_able_driver(
    environment: dict[str, str], gpu: str | None, verdict: str, tmp_path: Path, policy: Policy
) -> None:
    kernels(tmp_path / "layer" / "app")
    report = audited(save_image([tmp_path / "layer"], tmp_path / "i.tar", environment), 80, "535.288.01", policy, gpu)
    assert report.targets[0].verdict == verdict, report.findings
    if environment == {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8"}:
        assert "although its device code loads there" in observed(report, "require-cuda")


def test_layers_are_one_file_system(tmp_path: Path, policy: Policy) -> None:
    """A library of one layer is found by a program of another, and findings name the layer."""
    base, app = tmp_path / "base", tmp_path / "app"
    build(Elf("libhelp.so.1.2", soname="libhelp.so.1"), base / "usr" / "lib" / "x86_64-linux-gnu")
    (base / "usr" / "lib" / "x86_64-linux-gnu" / "libhelp.so.1").symlink_to("libhelp.so.1.2")
    (base / "lib").symlink_to("usr/lib")
    kernels(app / "opt", "libhelp.so.1", "libnccl.so.2")
    image = save_image([base, app], tmp_path / "image.tar", {})
    report = audited(image, 80, "580.65.06", policy)
    assert observed(report, "needed-library") == "needs libnccl.so.2"
    path = next(finding.path for finding in report.findings if finding.rule == "needed-library")
    assert "!/sha256:" in path
    assert path.endswith("!/opt/libk.so")


def test_stub_and_driver_are_told_apart_by_content(tmp_path: Path, policy: Policy) -> None:
    for name, size, error in (
        ("stub", 0, "CUDA_ERROR_STUB_LIBRARY"),
        ("driver", 1 << 20, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    ):
        root = tmp_path / name
        kernels(root, "libcuda.so.1", runpath="$ORIGIN")
        build(Elf("libcuda.so.1", exports=["cuInit"], code=size), root)
        report = audited(root, 80, "580.65.06", policy)
        assert (report.targets[0].causes, report.targets[0].errors) == (("driver-library-shipped",), (error,))


def test_nvml_and_the_jit_compiler_count_and_stubs_put_away_do_not(tmp_path: Path, policy: Policy) -> None:
    for name in ("libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1"):
        root = tmp_path / name
        kernels(root)
        build(Elf(name), root / "lib")
        assert audited(root, 80, "580.65.06", policy).targets[0].causes == ("driver-library-shipped",)
    root = tmp_path / "toolkit"
    kernels(root)
    for stub in ("libcuda.so", "libnvidia-ml.so"):
        build(Elf(stub, soname=f"{stub}.1"), root / "lib" / "stubs")
    assert audited(root, 80, "580.65.06", policy).targets[0].verdict == "pass"


def test_names_for_dlopen_are_notes(tmp_path: Path, policy: Policy) -> None:
    source = tmp_path / "k.c"
    source.write_text('const char *names[] = {"libcuda.so.1", "libnccl.so.2"};\n')
    root = tmp_path / "bundle"
    kernels(root)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-fPIC", source, "-o", root / "libopen.so", "-lc"], check=True)
    report = audited(root, 80, "580.65.06", policy)
    notes = [finding for finding in report.findings if finding.rule == "needed-library"]
    assert [(note.severity, "libnccl.so.2 at run time" in note.observed) for note in notes] == [(Severity.NOTE, True)]
    assert report.targets[0].verdict == "pass"


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ("Depends: libcublas12\n", "pass"),
        ("Pre-Depends: libc6 (>= 2.31),\n libcublas12 | libcublas-12-8\n", "pass"),
        ("Depends: libc6 (>= 2.31), libstdc++6\n", "fail"),
        ("Recommends: libcublas12\n", "fail"),
    ],
)
@pytest.mark.parametrize("packing", ["xz", "gzip", "none"])
def test_a_debian_package_may_leave_libraries_to_those_it_depends_on(
    fields: str, verdict: str, packing: str, tmp_path: Path, policy: Policy
) -> None:
    root = tmp_path / "root"
    kernels(root / "usr" / "lib", "libcublas.so.12")
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN" / "control").write_text(
        f"Package: k\nVersion: 1\nArchitecture: amd64\nMaintainer: m <m@example.org>\n{fields}Description: d\n"
    )
    command = ["dpkg-deb", f"-Z{packing}", "--build", str(root), str(tmp_path / "k.deb")]
    subprocess.run(command, check=True, capture_output=True)
    report = audited(tmp_path / "k.deb", 80, "580.65.06", policy)
    assert report.targets[0].verdict == verdict
    assert observed(report, "needed-library") == "needs libcublas.so.12"


def test_a_host_of_a_higher_level_loads_what_hwcaps_has(tmp_path: Path, policy: Policy) -> None:
    kernels(tmp_path / "b", "libfast.so", runpath="$ORIGIN")
    build(Elf("libfast.so", isa="x86-64-v3"), tmp_path / "b" / "glibc-hwcaps" / "x86-64-v3")
    for text, causes in (("cpu=x86-64-v2", ("needed-library",)), ("cpu=x86-64-v3", ())):
        report = run_audit([tmp_path / "b"], [policy.parse_target("80@580")], policy, host=HostFloor.parse(text))
        assert report.targets[0].causes == causes


@pytest.mark.docker
def test_an_image_of_a_real_engine(tmp_path: Path, policy: Policy) -> None:
    """The environment that the engine saved refuses the driver; what the base has is found."""
    from pipeline.engine.docker import DockerEngine

    with DockerEngine.connect() as engine:
        base = engine.ensure(BOOKWORM, lambda _: None).reference
    build(Elf("server", [container("12.8", "80")], program=True, needed=["libz.so.1", "libc.so.6"]), tmp_path / "app")
    shutil.copytree(tmp_path / "app", tmp_path / "context")
    lines = f"FROM {base}\nCOPY server /app/\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.8\n"
    (tmp_path / "context" / "Dockerfile").write_text(lines)
    tag = "cubingate-test/require:1"
    subprocess.run(["docker", "build", "-q", "-t", tag, tmp_path / "context"], check=True, capture_output=True)
    try:
        subprocess.run(["docker", "save", "-o", tmp_path / "i.tar", tag], check=True)
    finally:
        subprocess.run(["docker", "rmi", "-f", tag], check=True, capture_output=True)
    report = audited(tmp_path / "i.tar", 80, "535.288.01", policy)
    assert report.targets[0].causes == ("require-cuda",), report.findings
    assert audited(tmp_path / "i.tar", 80, "570.86.10", policy).targets[0].verdict == "pass"
