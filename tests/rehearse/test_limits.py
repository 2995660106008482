"""Assemblers that crash, hang, lie, flood or are not there: each ends in time, by name, and never as a pass."""

from __future__ import annotations

import os
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.model.finding import Verdict
from pipeline.policy import Policy, load_policy
from pipeline.rehearse.running import Command, Limits, run_all
from pipeline.rules.assembly import Ending
from tests.rehearse.assemblers import SETTINGS, audited, only, ptx

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.audit.report import AuditReport
    from pipeline.policy.rows import AssemblerRow
    from pipeline.rehearse import RehearseSettings

QUICK = Limits(seconds=1, memory=1 << 30, file=1 << 20, words=1 << 20)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def stand_in(folder: Path, script: str) -> Callable[[AssemblerRow], Path]:
    """A wheel whose ptxas is a shell script; it says so."""
    wheel = folder / "stand_in-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("stand_in/bin/ptxas", f"#!/bin/sh\n# A stand-in, not NVIDIA's.\n{script}\n")
    return lambda _row: wheel


def rehearsed(folder: Path, policy: Policy, settings: RehearseSettings, text: str = "") -> AuditReport:
    path = folder / "k.ptx"
    path.write_text(text or ptx(""))
    return audited(path, "61@535", policy, settings)


@pytest.mark.parametrize(
    ("script", "ending", "reason"),
    [
        ("kill -SEGV $$", Ending.CRASHED, "signal SIGSEGV"),
        ("kill -KILL $$", Ending.CRASHED, "signal SIGKILL"),
        ("echo something strange; exit 3", Ending.CRASHED, "exit status 3: something strange"),
        ("exit 0", Ending.CRASHED, "it said yes, and its machine code is none"),
        ("echo not a cubin > out.cubin", Ending.CRASHED, "it said yes, and its machine code is none"),
        ("while :; do :; done", Ending.TIME_LIMIT, "it took more than 1 s"),
        ("yes", Ending.OUTPUT_LIMIT, "it wrote more than it may"),
        ("exec head -c 2M /dev/zero > out.cubin", Ending.OUTPUT_LIMIT, "it wrote more than it may"),
        (
            "echo 'ptxas fatal   : Memory allocation failure'; exit 255",
            Ending.MEMORY_LIMIT,
            "Memory allocation failure",
        ),
        ("echo 'ptxas fatal   : (C7907) Internal compiler error'; exit 255", Ending.CRASHED, "Internal compiler error"),
    ],
)
def test_a_broken_assembler_is_unknown_and_named(
    script: str, ending: Ending, reason: str, tmp_path: Path, policy: Policy
) -> None:
    settings = replace(SETTINGS, fetch=stand_in(tmp_path, script), limits=QUICK)
    started = time.monotonic()
    report = rehearsed(tmp_path, policy, settings)
    assert time.monotonic() - started < 20
    assert (only(report).ending, report.targets[0].verdict, report.status) == (ending, Verdict.UNKNOWN, 1)
    assert reason in only(report).reason
    (finding,) = [finding for finding in report.findings if finding.rule == "rehearsal"]
    assert f"not assembled: {only(report).reason}" in finding.observed


def test_one_that_sleeps_is_ended_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.rehearse.running._GRACE", 0.0)
    limits = replace(QUICK, seconds=0.1)
    (ended,) = run_all([Command(("/bin/sleep", "600"), tmp_path)], limits, 1)
    assert (ended.stopped, ended.status) == ("time", -9)


def test_what_it_left_behind_is_ended_too(tmp_path: Path) -> None:
    script = "sleep 600 > /dev/null 2>&1 & echo $! > child"
    (ended,) = run_all([Command(("/bin/sh", "-c", script), tmp_path)], QUICK, 1)
    assert ended.status == 0
    assert _ends(int((tmp_path / "child").read_text()))


def test_nothing_runs_on_after_an_interruption(tmp_path: Path) -> None:
    commands = []
    for place in range(3):
        folder = tmp_path / str(place)
        folder.mkdir()
        commands.append(Command(("/bin/sh", "-c", "echo $$ > pid; exec sleep 600" if place else "exit 0"), folder))
    running = run_all(commands, QUICK, 3)
    assert next(running).place == 0
    pids = [int(_written(tmp_path / str(place) / "pid")) for place in (1, 2)]
    running.close()  # type: ignore[attr-defined]
    assert all(_ends(pid) for pid in pids)


def _written(path: Path) -> str:
    for _ in range(200):
        if path.is_file() and path.read_text().strip():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} was never written")


def _ends(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if _state(pid) == "Z":
            return True
        time.sleep(0.05)
    return False


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][:1]
    except FileNotFoundError:
        return "Z"


def test_the_environment_of_this_process_is_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    (ended,) = run_all([Command(("/usr/bin/env",), tmp_path)], QUICK, 1)
    assert "TOKEN" not in ended.output
    assert f"TMPDIR={tmp_path}" in ended.output


def test_an_assembler_that_cannot_be_fetched(tmp_path: Path, policy: Policy) -> None:
    def offline(_row: AssemblerRow) -> Path:
        raise InfrastructureError("the package registry does not answer")

    report = rehearsed(tmp_path, policy, replace(SETTINGS, fetch=offline))
    assert (only(report).ending, report.targets[0].verdict, report.status) == (
        Ending.NOT_FETCHED,
        Verdict.UNKNOWN,
        1,
    )
    assert "the package registry does not answer" in report.findings[0].observed


def test_a_wheel_that_is_none(tmp_path: Path, policy: Policy) -> None:
    def broken(_row: AssemblerRow) -> Path:
        path = tmp_path / "broken.whl"
        path.write_bytes(b"PK\3\4 and no more")
        return path

    assert only(rehearsed(tmp_path, policy, replace(SETTINGS, fetch=broken))).ending is Ending.NOT_FETCHED


def test_bytes_that_are_not_the_pinned_ones(tmp_path: Path, policy: Policy) -> None:
    def another(_row: AssemblerRow) -> Path:
        raise CorruptInput("the wheel has another SHA-256")

    assert only(rehearsed(tmp_path, policy, replace(SETTINGS, fetch=another))).ending is Ending.NOT_FETCHED


def test_a_machine_for_which_there_is_no_assembler(tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, policy, replace(SETTINGS, platform="riscv64"))
    assert (only(report).ending, report.targets[0].verdict) == (Ending.NO_ASSEMBLER, Verdict.UNKNOWN)


# What follows is done by the real ptxas.

LONG = "fma.rn.f32 %f2, %f2, %f1, 0f3F800001; ex2.approx.f32 %f1, %f2;\n" * 60_000


@pytest.mark.network
def test_a_text_that_takes_too_long(tmp_path: Path, policy: Policy) -> None:
    body = LONG + "st.global.f32 [%rd1], %f1;"
    report = rehearsed(tmp_path, policy, replace(SETTINGS, limits=Limits(seconds=1)), ptx(body))
    assert (only(report).ending, report.targets[0].verdict) == (Ending.TIME_LIMIT, Verdict.UNKNOWN)


@pytest.mark.network
def test_a_text_that_takes_too_much_memory(tmp_path: Path, policy: Policy) -> None:
    body = LONG + "st.global.f32 [%rd1], %f1;"
    report = rehearsed(tmp_path, policy, replace(SETTINGS, limits=Limits(memory=128 << 20)), ptx(body))
    assert (only(report).ending, report.targets[0].verdict) == (Ending.MEMORY_LIMIT, Verdict.UNKNOWN)


@pytest.mark.network
@pytest.mark.parametrize(
    "rest",
    [
        "\0\x01\x02 garbage \x7f",
        "{" * 200_000,
        ".visible .entry " + "k" * 1_000_000,
        "// " + "x" * 5_000_000,
        "/* never closed " * 1000,
        '.file 1 "/etc/passwd"\n.section .debug { .b8 1 }\n.include "/etc/passwd"',
        "\n".join(f".entry k{n}() {{ bad; }}" for n in range(5000)),
    ],
    ids=["garbage", "braces", "a long name", "a long comment", "an open comment", "other files", "many errors"],
)
def test_hostile_text_ends_in_a_named_way(rest: str, tmp_path: Path, policy: Policy) -> None:
    text = f".version 7.0\n.target sm_61\n.address_size 64\n{rest}\n"
    report = rehearsed(tmp_path, policy, replace(SETTINGS, limits=Limits(seconds=20)), text)
    assembly = only(report)
    assert len(assembly.complaints) <= 20
    assert "root:" not in assembly.reason
    if assembly.ending is not Ending.ACCEPTED:
        assert report.targets[0].verdict is not Verdict.PASS
        assert assembly.reason


@pytest.mark.network
def test_more_ptx_than_it_takes(tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, policy, replace(SETTINGS, limits=Limits(texts=100)))
    assert (only(report).ending, report.targets[0].verdict) == (Ending.NOT_READ, Verdict.UNKNOWN)


def test_what_this_process_took_is_not_taken_for_the_assemblers(tmp_path: Path, policy: Policy) -> None:
    """Linux counts a child's memory from its parent's on: a crash beside much memory of ours is a crash."""
    ballast = bytearray(QUICK.memory // 2 + (64 << 20))
    ballast[::4096] = b"x" * len(range(0, len(ballast), 4096))
    settings = replace(SETTINGS, fetch=stand_in(tmp_path, "kill -SEGV $$"), limits=QUICK)
    assert only(rehearsed(tmp_path, policy, settings)).ending is Ending.CRASHED
