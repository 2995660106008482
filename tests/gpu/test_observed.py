"""Every row measured on a real driver, through the whole of ``load``: the stand-in answers the row, the rules agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.gpu.load import load_modules
from pipeline.model.finding import Verdict
from pipeline.rules.choice import JitPass
from tests.gpu.standin import NO_BINARY, SUCCESS, StandIn, build
from tests.gpu.test_load import settings
from tests.observed.test_observed import chosen_from, fatbin_of, image_of, rows, sampled
from tests.toolchain import TOOLKITS

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.gpu.report import LoadReport, Observed
    from tests.gpu.conftest import GetPolicy
    from tests.observed.test_observed import Row

ABSENT = "bad_magic"  # its container is none any more: there is nothing to give to a driver


def by_name(report: LoadReport) -> dict[str, Observed]:
    return {item.path.parts[1]: item for item in report.observed}


def foreseen(item: Observed, jit: JitPass = JitPass.AS_IS) -> str | None:
    return item.container.forecast.of(jit) if item.container.forecast else None


@pytest.mark.network
def test_selection(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    measured = [row for row in rows("selection") if row["container"] != ABSENT]
    for row in measured:
        content = chosen_from(row)
        driver.answers(content, row["load"], row["load_jit_forbidden"], row["load_jit_forced"])
        (folder / row["container"]).write_bytes(content)
    found = by_name(load_modules(folder, policy, settings(driver)))
    assert found.keys() == {row["container"] for row in measured}
    for row in measured:
        item = found[row["container"]]
        assert (item.result, foreseen(item)) == (row["load"], row["load"]), row
        if row["load_jit_forbidden"]:
            assert item.agrees is True, row


@pytest.mark.network
def test_fatbins(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    measured = {str(index): row for index, row in enumerate(rows("fatbins")) if "13.0" in row["writer"]}
    for name, row in measured.items():
        content = fatbin_of(row)
        driver.answers(content, row["load"])
        (folder / name).write_bytes(content)
    found = by_name(load_modules(folder, policy, settings(driver)))
    assert {name: item.result for name, item in found.items()} == {name: row["load"] for name, row in measured.items()}
    assert all(foreseen(item) == item.result for item in found.values())


QUICK = ("11.8", "13.0", "13.5")


@pytest.mark.parametrize(
    "toolkit", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in TOOLKITS]
)
def test_bare_ptx(driver: StandIn, tmp_path: Path, policy: GetPolicy, toolkit: str) -> None:
    measured = {
        f"{toolkit}-{row['target']}.ptx": row
        for row in rows("single-images")
        if row["kind"] == "ptx" and row["toolkit"] == toolkit
    }
    compare_single(measured, driver, tmp_path, policy)


@pytest.mark.network
def test_bare_cubins(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    measured = {
        f"{row['toolkit']}-{row['target']}.cubin": row
        for row in rows("single-images")
        if row["kind"] == "cubin" and sampled(row)
    }
    compare_single(measured, driver, tmp_path, policy)


def compare_single(measured: dict[str, Row], driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, row in measured.items():
        content = image_of(row)
        driver.answers(content, row["load"])
        (folder / name).write_bytes(content)
    found = by_name(load_modules(folder, policy, settings(driver)))
    assert {name: item.result for name, item in found.items()} == {name: row["load"] for name, row in measured.items()}
    assert {name: foreseen(item) for name, item in found.items()} == {
        name: row["load"] for name, row in measured.items()
    }


@pytest.mark.network
@pytest.mark.parametrize("answer", [SUCCESS, NO_BINARY])
def test_what_the_rules_only_doubt_is_no_contradiction(tmp_path: Path, policy: GetPolicy, answer: str) -> None:
    """Nothing says which driver first reads a concatenated container."""
    newer = StandIn(build(tmp_path / "newer", version="595.58.03"), tmp_path)
    row = next(row for row in rows("selection") if row["container"] == "concat_size")
    (tmp_path / "k.fatbin").write_bytes(newer.answers(chosen_from(row), answer))
    report = load_modules(tmp_path / "k.fatbin", policy, settings(newer))
    assert foreseen(report.observed[0]) is None
    assert not [item for item in report.disagreements if foreseen(item) is not None]
    assert report.verdict is not Verdict.PASS if answer != SUCCESS else report.observed[0].result == SUCCESS
