"""Libraries that their names give to other GPUs, or that come once per architecture, are told from gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.policy import Policy, load_policy
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import TargetReport

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def audited(folder: Path, target: str, policy: Policy, **libraries: str) -> TargetReport:
    """A bundle with one container in each library; ``__`` in a name stands for a slash, the suffix is left out."""
    for name, archs in libraries.items():
        place = folder / "bundle" / f"{name.replace('__', '/')}.so"
        build(Elf(place.name, [container("12.8", archs)]), place.parent)
    return run_audit([folder / "bundle"], [policy.parse_target(target)], policy).targets[0]


@pytest.mark.parametrize("name", ["_C_cutlass_90a", "libgemm_sm90", "libgemm-sm_90a", "sm90"])
def test_a_library_named_for_another_gpu_is_excused_beside_one_that_serves(
    name: str, tmp_path: Path, policy: Policy
) -> None:
    answer = audited(tmp_path, "80@570", policy, **{"libmain": "80 90", name: "90a"})
    assert (answer.verdict, answer.fatbins.by_design) == ("pass", 1)


@pytest.mark.parametrize(
    ("libraries", "why"),
    [
        ({"libgemm_sm90": "90a"}, "nothing else is served"),
        ({"libmain": "90", "libgemm_sm90": "90a"}, "what else there is is not served either"),
        ({"libmain": "80 90", "libgemm": "90a"}, "the name says nothing"),
        ({"libmain": "80 90", "libgemm_sm90": "86 90"}, "there is code for a GPU that the name does not name"),
        ({"libmain": "80 90", "libgemm90": "90a"}, "a number alone is not an architecture"),
        ({"libmain": "80 90", "libgemm_90": "90a"}, "a number alone is not an architecture"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_gaps_count(libraries: dict[str, str], why: str, tmp_path: Path, policy: Policy) -> None:
    assert audited(tmp_path, "80@570", policy, **libraries).verdict == "fail", why


def test_of_libraries_per_architecture_one_must_serve(tmp_path: Path, policy: Policy) -> None:
    libraries = {"sm80__common_ops": "80", "sm90__common_ops": "90", "libmain": "75 80 90"}
    assert audited(tmp_path / "first", "90@570", policy, **libraries).verdict == "pass"
    assert audited(tmp_path / "second", "80@570", policy, **libraries).verdict == "pass"
    assert audited(tmp_path / "third", "75@570", policy, **libraries).verdict == "fail"
