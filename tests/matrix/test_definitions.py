from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.matrix.definitions import driver_version, read_definitions
from pipeline.matrix.nodes import MapNode
from pipeline.model.lane import (
    BaseImage,
    BuildRecipe,
    Debootstrap,
    GitSource,
    PrebuiltFile,
    PrebuiltUrl,
    PrebuiltWheel,
    Proof,
    SdistSource,
    ServedModel,
    SmokeSettings,
)
from pipeline.policy import load_policy
from tests.matrix.files import node

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.matrix.definitions import Definitions
    from pipeline.model.lane import Source

DIGEST = "ab" * 32
COMMIT = "cd" * 20


def read(text: str, folder: Path) -> tuple[Definitions, list[str]]:
    root = node(text)
    assert isinstance(root, MapNode)
    mistakes: list[str] = []
    found: list[object] = mistakes  # type: ignore[assignment]
    definitions = read_definitions(root, folder, load_policy(), found)  # type: ignore[arg-type]
    return definitions, [str(mistake) for mistake in mistakes]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"{{git: g, ref: r, commit: {COMMIT}}}", GitSource("g", "r", COMMIT)),
        (f"{{sdist: s, version: 1.0.0, sha256: {DIGEST}}}", SdistSource("s", "1.0.0", DIGEST)),
        (f"{{sdist: s, version: 1.0.0, sha256: {DIGEST}, subdirectory: d}}", SdistSource("s", "1.0.0", DIGEST, "d")),
        (f"{{url: 'https://x.org/b', sha256: {DIGEST}}}", PrebuiltUrl("https://x.org/b", DIGEST)),
        (
            f"{{wheel: w, version: 1.0.0, filename: w.whl, sha256: {DIGEST}}}",
            PrebuiltWheel("w", "1.0.0", "w.whl", DIGEST),
        ),
    ],
)
def test_sources(tmp_path: Path, text: str, source: Source) -> None:
    definitions, mistakes = read(f"sources: {{it: {text}}}", tmp_path)
    assert definitions.sources.values == {"it": source}
    assert mistakes == []


def test_a_file_is_relative_to_the_matrix_file(tmp_path: Path) -> None:
    definitions, _ = read(f"sources: {{it: {{file: a/b.tar.gz, sha256: {DIGEST}}}}}", tmp_path)
    assert definitions.sources.values["it"] == PrebuiltFile(tmp_path / "a/b.tar.gz", DIGEST)


def test_base_images_and_recipes(tmp_path: Path) -> None:
    definitions, _ = read(
        f"""
base_images:
  plain: {{reference: "debian:12"}}
  full: {{reference: "debian:12", digest: "sha256:{DIGEST}", fallback: {{debootstrap: bookworm, include: [curl]}}}}
recipes:
  r: {{dockerfile: d, cmake_target: t, defines: {{A: "ON"}}, install: {{a: b}}, ship: ["lib*.so.*"], packages: [git]}}
""",
        tmp_path,
    )
    assert definitions.base_images.values["plain"] == BaseImage("plain", "debian:12")
    assert definitions.base_images.values["full"] == BaseImage(
        "full", "debian:12", f"sha256:{DIGEST}", Debootstrap("bookworm", ("curl",))
    )
    assert definitions.recipes.values["r"] == BuildRecipe("d", "t", {"A": "ON"}, {"a": "b"}, ("lib*.so.*",), ("git",))


def test_smoke_settings(tmp_path: Path) -> None:
    definitions, mistakes = read(
        f"""
smoke:
  s:
    command: [srv, "{{model}}", "{{port}}", "{{device}}"]
    device_arguments: {{cpu: [], cuda: [-ngl, all]}}
    environment: {{A: "1"}}
    ready_timeout: 5
    contain: true
    model: {{url: "https://x.org/m.gguf", sha256: {DIGEST}, expected_token: Hi}}
""",
        tmp_path,
    )
    assert mistakes == []
    assert definitions.smoke.values["s"] == SmokeSettings(
        command=("srv", "{model}", "{port}", "{device}"),
        device_arguments={"cpu": (), "cuda": ("-ngl", "all")},
        environment={"A": "1"},
        ready_timeout=5,
        contain=True,
        model=ServedModel("https://x.org/m.gguf", DIGEST, "Hi"),
    )


def test_a_broken_entry_keeps_its_name_known(tmp_path: Path) -> None:
    definitions, _ = read("targets: {good: {sm: 80, driver: '535'}, bad: {sm: 80}}", tmp_path)
    assert definitions.targets.names == ("good", "bad")
    assert list(definitions.targets.values) == ["good"]


def test_a_branch_that_never_was_is_a_mistake_at_its_place(tmp_path: Path) -> None:
    _, mistakes = read("targets: {it: {sm: 80, driver: '999'}, other: {sm: 80, driver: '536'}}", tmp_path)
    assert mistakes == ["matrix.yaml:1:64: R536 is not a driver branch of the tables; name the full driver version"]


def test_driver_versions() -> None:
    assert str(driver_version("535", load_policy())) == "535.54.03"
    assert str(driver_version("535.288.01", load_policy())) == "535.288.01"


@pytest.mark.parametrize(
    ("words", "suffices"),
    [
        ("", Proof.PROVEN),
        (", suffices: inferred", Proof.INFERRED),
        (", suffices: proven", Proof.PROVEN),
        (", required: false", Proof.INFERRED),
        (", required: true", Proof.PROVEN),
    ],
)
def test_which_proof_of_a_target_suffices(tmp_path: Path, words: str, suffices: Proof) -> None:
    definitions, mistakes = read(f"targets: {{it: {{sm: 80, driver: 535.288.01{words}}}}}", tmp_path)
    assert definitions.targets.values["it"].suffices is suffices
    assert mistakes == []


def test_saying_twice_what_suffices_is_a_mistake(tmp_path: Path) -> None:
    _, mistakes = read("targets: {it: {sm: 80, driver: '535', suffices: proven, required: false}}", tmp_path)
    assert len(mistakes) == 1
    assert "keep 'suffices'" in mistakes[0]
