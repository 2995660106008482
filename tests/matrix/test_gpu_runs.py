"""As few machines as possible, and each promise settled by one of them."""

from __future__ import annotations

from pathlib import Path

from pipeline.matrix.gpu_runs import gpu_runs
from pipeline.model.lane import Lane, Plan, Proof, Target
from pipeline.model.versions import DriverVersion
from tests.values import POLICY, cpu_lane, cuda_lane


def target(sm: int, driver: str, **changes: object) -> Target:
    return Target(sm, DriverVersion(driver), **changes)  # type: ignore[arg-type]


def lane(name: str, *targets: Target) -> Lane:
    required = ("audit", *(check for each in targets if each.required for check in each.checks))
    return cuda_lane(id=name, targets=targets, required=required)


def runs(*lanes: Lane) -> list[tuple[str, list[str]]]:
    found = gpu_runs(Plan(Path("matrix.yaml"), lanes, ()), POLICY)
    return [(run.target.label, [name for name, _ in run.proves]) for run in found]


def test_lanes_that_promise_the_same_share_a_run() -> None:
    a30 = target(80, "535.288.01")
    assert runs(lane("a", a30), lane("b", a30), cpu_lane()) == [("80@535.288.01", ["a", "b"])]


def test_drivers_of_a_branch_share_a_run_on_the_newest_of_them() -> None:
    lanes = (lane("a", target(80, "535.104.05")), lane("b", target(80, "535.288.01")))
    assert runs(*lanes) == [("80@535.288.01", ["a", "b"])]


def test_a_floor_inside_a_branch_takes_two_runs() -> None:
    """550.54.14 unpacks Zstandard, 550.40.07 does not."""
    lanes = (lane("a", target(80, "550.40.07")), lane("b", target(80, "550.90.07")))
    assert [label for label, _ in runs(*lanes)] == ["80@550.40.07", "80@550.90.07"]


def test_another_sm_or_branch_takes_a_run_of_its_own() -> None:
    found = runs(lane("a", target(80, "535.288.01"), target(86, "535.288.01"), target(80, "580.65.06")))
    assert [label for label, _ in found] == ["80@535.288.01", "86@535.288.01", "80@580.65.06"]


def test_a_target_that_may_be_inferred_takes_none() -> None:
    assert runs(lane("a", target(80, "535.288.01", suffices=Proof.INFERRED))) == []


def test_a_run_settles_exactly_the_checks_that_are_required() -> None:
    promised = target(80, "535.288.01", runner=("a30",))
    only_load = cuda_lane(id="a", targets=(promised,), required=("audit", "load@80@535.288.01"))
    (run,) = gpu_runs(Plan(Path("matrix.yaml"), (only_load,), ()), POLICY)
    assert run.proves == (("a", ("load@80@535.288.01",)),)
    assert run.runner == ("a30",)
