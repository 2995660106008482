"""``NVIDIA_REQUIRE_CUDA`` is what the bundle needs: the audit of the image agrees, and fails its twin."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.audit import run_audit
from pipeline.model.lane import BaseImage, GitSource, ImageTerms, Target
from pipeline.model.target import Platform
from pipeline.model.versions import DriverVersion, ToolkitVersion
from pipeline.publishers.oci import Base, written
from pipeline.publishers.oci_base import scratch
from pipeline.publishers.oci_notes import floor_of
from pipeline.publishers.oci_release import Release, packed_release
from tests.formats.artifacts import Library, link
from tests.publishers.release_bundles import cpu_bundle, cuda_bundle
from tests.toolchain import cubin_image, nvfatbin
from tests.values import POLICY, cuda_lane

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.gate import Approved

NVIDIA_BASE = ["PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=535,driver<536", "CUDA_VERSION=12.8.1"]


def released(item: Approved, folder: Path, *, base: Base | None = None, terms: ImageTerms | None = None) -> Release:
    scratch_folder = folder / "scratch"
    return packed_release(
        item,
        item.artifact.path,
        base or scratch(Platform.X86_64),
        terms or ImageTerms(),
        policy=POLICY,
        scratch=scratch_folder,
    )


def config_of(release: Release) -> dict[str, Any]:
    content = release.image.blobs[0].content
    assert isinstance(content, bytes)
    config: dict[str, Any] = json.loads(content)
    return config


def environment_of(release: Release) -> dict[str, str]:
    return dict(line.split("=", 1) for line in config_of(release)["config"]["Env"])


def manifest_of(release: Release) -> dict[str, Any]:
    content = release.image.manifest.content
    assert isinstance(content, bytes)
    manifest: dict[str, Any] = json.loads(content)
    return manifest


@pytest.mark.parametrize(
    ("floors", "changes", "driver", "cuda"),
    [
        # The toolkit's runtime library asks for more than the code itself.
        ({"80": "450.80.02"}, {}, "525.60.13", "12.0"),
        ({"80": "535.54.03"}, {"driver_floor": DriverVersion("535.54.03")}, "535.54.03", "12.2"),
        # One GPU needs more than the other: neither may be kept out.
        ({"80": "525.60.13", "90": "550.54.14"}, {}, "525.60.13", "12.0"),
        # A promise is kept, whatever else is thought to be needed.
        (
            {"80": "550.54.14"},
            {"targets": (Target(80, DriverVersion("470.82.01")),), "driver_floor": None},
            "470.82.01",
            "11.4",
        ),
        ({"80": None}, {}, "525.60.13", "12.0"),
        ({"80": "580.65.06"}, {"toolkit": ToolkitVersion("13.0.2"), "driver_floor": None}, "535.288.01", "12.2"),
    ],
)
def test_the_floor(
    tmp_path: Path, floors: dict[str, str | None], changes: dict[str, Any], driver: str, cuda: str
) -> None:
    item = cuda_bundle(tmp_path, floors, **changes)
    floor = floor_of(item, POLICY)
    assert floor is not None
    assert (str(floor.driver), floor.cuda) == (driver, cuda)
    assert environment_of(released(item, tmp_path))["NVIDIA_REQUIRE_CUDA"] == f"cuda>={cuda}"


def test_nothing_known_asks_for_nothing(tmp_path: Path) -> None:
    item = cuda_bundle(tmp_path, {}, targets=(), driver_floor=None)
    release = released(item, tmp_path, base=Base({"os": "linux", "config": {"Env": NVIDIA_BASE}}, ()))
    assert floor_of(item, POLICY) is None
    assert not {"NVIDIA_REQUIRE_CUDA", "CUDA_VERSION"} & set(environment_of(release))


def test_what_the_base_asks_for_itself_is_not_inherited(tmp_path: Path) -> None:
    base = Base({"os": "linux", "config": {"Env": NVIDIA_BASE, "Cmd": ["bash"], "User": "nobody"}}, ())
    release = released(cuda_bundle(tmp_path, {"80": "525.60.13"}), tmp_path, base=base)
    assert environment_of(release) == {
        "PATH": "/bin",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.0",
    }
    settings = config_of(release)["config"]
    assert (settings["User"], settings.get("Cmd")) == ("nobody", None)


def test_a_cpu_image_asks_for_no_driver(tmp_path: Path) -> None:
    base = Base({"os": "linux", "config": {"Env": NVIDIA_BASE}}, ())
    assert environment_of(released(cpu_bundle(tmp_path, "one"), tmp_path, base=base)) == {"PATH": "/bin"}


@pytest.mark.parametrize(("require", "verdict"), [("cuda>=12.0", "pass"), ("cuda>=12.8", "fail")])
def test_the_audit_of_the_image_agrees(tmp_path: Path, require: str, verdict: str) -> None:
    """The image as it is made, and its twin with the requirement that an NVIDIA base would have left in it."""
    item = cuda_bundle(tmp_path, {"80": "525.60.13"}, content=library())
    release = released(item, tmp_path)
    layout = tmp_path / "image"
    manifest, config = manifest_of(release), config_of(release)
    environment = environment_of(release) | {"NVIDIA_REQUIRE_CUDA": require}
    if require == "cuda>=12.0":
        assert environment == environment_of(release), "as it is made"
    config["config"]["Env"] = [f"{name}={value}" for name, value in environment.items()]
    write_layout(layout, manifest, config, item.artifact.path.read_bytes())
    report = run_audit([layout], [POLICY.parse_target("80@535.288.01")], POLICY)
    outcome = next(row for row in report.outcomes if row.rule == "require-cuda")
    assert outcome.status.value == verdict
    assert outcome.examined == 1


def library() -> bytes:
    """A shared library with one cubin for sm_80."""
    return link(Library(fatbins=(nvfatbin("12.8", [cubin_image("12.8", "scale", "80")], mode="none"),)))


def write_layout(folder: Path, manifest: dict[str, Any], config: dict[str, Any], layer: bytes) -> None:
    """The image as an OCI layout."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def kept(content: bytes) -> dict[str, Any]:
        digest = sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"digest": f"sha256:{digest}", "size": len(content)}

    manifest["config"] |= kept(written(config))
    kept(layer)
    row = {"mediaType": manifest["mediaType"], **kept(written(manifest))}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [row]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def test_labels_and_annotations(tmp_path: Path) -> None:
    source = GitSource("https://github.com/acme/server", "v1.0", "c" * 40)
    item = cuda_bundle(tmp_path, {"80": "525.60.13", "90": "550.54.14"}, source=source)
    base = BaseImage("slim", "debian:bookworm-slim", "sha256:" + "b" * 64)
    release = released(item, tmp_path, terms=ImageTerms(base=base, licenses="MIT"))
    labels = config_of(release)["config"]["Labels"]
    assert labels == {
        "org.opencontainers.image.title": "server",
        "org.opencontainers.image.version": "1.0",
        "org.opencontainers.image.revision": "c" * 40,
        "org.opencontainers.image.source": "https://github.com/acme/server",
        "org.opencontainers.image.created": "2023-11-14T22:13:20Z",
        "org.opencontainers.image.licenses": "MIT",
        "org.opencontainers.image.base.name": "debian:bookworm-slim",
        "org.opencontainers.image.base.digest": "sha256:" + "b" * 64,
        "io.cubingate.release.lane": "cuda12.8-sm80",
        "io.cubingate.release.sha256": item.artifact.sha256,
        "io.cubingate.release.file": "cuda12.8-sm80.tar.gz",
        "io.cubingate.release.driver-floor": "525.60.13",
        "io.cubingate.release.driver-floors": "80=525.60.13 90=550.54.14",
        "io.cubingate.release.archs.real": "80",
        "io.cubingate.release.toolkit": "12.8.1",
        "io.cubingate.release.glibc": "2.31",
    }
    assert manifest_of(release)["annotations"] == labels
    assert "io.cubingate.lane" not in labels, "by which `clean` removes images"


@pytest.mark.parametrize(
    ("command", "entrypoint"),
    [
        ("bin/server", ["/server-1.0/bin/server"]),
        ("{bundle}/bin/server", ["/server-1.0/bin/server"]),
        ("{python}", None),
        ("/usr/bin/python3", None),
        ("../bin/server", None),
    ],
)
def test_what_the_smoke_started_is_what_the_image_starts(
    tmp_path: Path, command: str, entrypoint: list[str] | None
) -> None:
    lane = cuda_lane()
    item = cuda_bundle(tmp_path, {}, smoke=replace(lane.smoke, command=(command, "--port", "{port}")))
    settings = config_of(released(item, tmp_path))["config"]
    assert settings.get("Entrypoint") == entrypoint
    assert settings["WorkingDir"] == "/server-1.0"


def test_a_bundle_alone_is_for_the_lane_s_platform(tmp_path: Path) -> None:
    config = config_of(released(cpu_bundle(tmp_path, "one"), tmp_path))
    assert (config["os"], config["architecture"]) == ("linux", "amd64")
