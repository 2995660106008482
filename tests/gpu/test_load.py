"""Loading through a stand-in driver: what each answer means, and that no way of failing spoils the rest."""

from __future__ import annotations

import hashlib
import os
import tarfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import ExitStatus, InfrastructureError, UsageError
from pipeline.gpu.answer import NoAnswer
from pipeline.gpu.forecast import Role
from pipeline.gpu.lease import lease
from pipeline.gpu.load import load_modules
from pipeline.gpu.passes import VARIABLES
from pipeline.gpu.settings import Limits, LoadSettings
from pipeline.model.finding import Verdict
from pipeline.model.versions import DriverVersion
from pipeline.rules.choice import JitPass, Via
from tests.gpu import made
from tests.gpu.standin import BAD_PTX, JIT_DISABLED, NO_BINARY, SUCCESS, VERSION, StandIn, build, fnv1a

if TYPE_CHECKING:
    from pipeline.gpu.report import LoadReport
    from tests.gpu.conftest import GetPolicy

NATIVE = (SUCCESS, SUCCESS, NO_BINARY)
BY_JIT = (SUCCESS, JIT_DISABLED, SUCCESS)
LIMITS = Limits(start=10.0, container=10.0)


def settings(driver: StandIn, *, limits: Limits = LIMITS, fresh: bool = False) -> LoadSettings:
    return LoadSettings(
        environment=driver.environment(),
        limits=limits,
        fresh=fresh,
        pauses=(),
        locks=driver.folder,
        module=lambda: DriverVersion(VERSION),
    )


def native(driver: StandIn, serial: int = 0) -> bytes:
    return driver.answers(made.fatbin(made.cubin("90", serial)), *NATIVE)


def results(report: LoadReport) -> list[str]:
    return [item.result for item in report.observed]


def test_what_loads_passes_and_each_pass_is_told(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    jit = driver.answers(made.fatbin(made.cubin("80"), made.ptx("80")), *BY_JIT)
    file = made.library(tmp_path / "lib.so", [native(driver), jit])
    report = load_modules(file, policy, settings(driver))
    assert report.verdict is Verdict.PASS
    assert report.status is ExitStatus.PASS
    assert [item.via for item in report.observed] == [Via.CUBIN, Via.JIT]
    assert [item.agrees for item in report.observed] == [True, True]
    assert report.observed[0].jit_seconds is None
    assert report.observed[1].jit_seconds is not None
    assert report.machine.label == "90@580.159.04"


def test_what_does_not_load_fails(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    other = driver.answers(made.fatbin(made.cubin("89")), NO_BINARY)
    newer = driver.answers(made.fatbin(made.ptx("90", "9.5")), BAD_PTX, JIT_DISABLED, BAD_PTX)
    file = made.library(tmp_path / "lib.so", [native(driver), other, newer])
    report = load_modules(file, policy, settings(driver))
    assert report.verdict is Verdict.FAIL
    assert report.status is ExitStatus.REFUSED
    assert [item.result for item in report.missing] == [NO_BINARY, BAD_PTX]
    assert not report.disagreements


def test_a_contradiction_is_no_pass_and_names_the_bytes(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    """The rules say that sm_89 does not run on sm_90; a driver that loads it must not be believed in silence."""
    strange = driver.answers(made.fatbin(made.cubin("89")), SUCCESS, SUCCESS, NO_BINARY)
    file = made.library(tmp_path / "lib.so", [native(driver), strange])
    report = load_modules(file, policy, settings(driver))
    assert report.verdict is Verdict.UNKNOWN
    assert report.status is ExitStatus.REFUSED
    assert [len(item.sha256) for item in report.disagreements] == [64]


def test_a_contradiction_in_a_pass_that_is_only_asked_for_counts_too(
    driver: StandIn, tmp_path: Path, policy: GetPolicy
) -> None:
    strange = driver.answers(made.fatbin(made.cubin("90", 7)), SUCCESS, SUCCESS, SUCCESS)
    report = load_modules(made.library(tmp_path / "lib.so", [strange]), policy, settings(driver))
    assert report.verdict is Verdict.UNKNOWN


def test_an_unforeseen_failure_fails_and_is_told_as_a_contradiction(
    driver: StandIn, tmp_path: Path, policy: GetPolicy
) -> None:
    strange = driver.answers(made.fatbin(made.cubin("90", 8)), NO_BINARY)
    report = load_modules(made.library(tmp_path / "lib.so", [strange]), policy, settings(driver))
    assert report.verdict is Verdict.FAIL
    assert report.disagreements == report.observed


@pytest.mark.parametrize(("general", "verdict"), [(True, Verdict.PASS), (False, Verdict.FAIL)])
def test_absence_by_design_is_excused_only_beside_full_coverage(
    driver: StandIn, tmp_path: Path, policy: GetPolicy, *, general: bool, verdict: Verdict
) -> None:
    driver.more["STANDIN_DEVICES"] = f"NVIDIA A100|80|{'ab' * 16}|{'ab' * 16}"
    special = driver.answers(made.fatbin(made.cubin("90a")), NO_BINARY)
    plain = driver.answers(made.fatbin(made.cubin("80")), *NATIVE)
    file = made.library(tmp_path / "lib.so", [plain, special] if general else [special])
    assert load_modules(file, policy, settings(driver)).verdict is verdict


def test_what_only_linkers_read_is_told_apart(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    file = made.library(
        tmp_path / "lib.so",
        [native(driver), made.fatbin(made.lto_ir("90")), made.fatbin()],
        [made.fatbin(made.cubin("90", 5))],
    )
    report = load_modules(file, policy, settings(driver))
    assert report.verdict is Verdict.PASS
    assert [item.role for item in report.left_out] == [Role.FOREIGN, Role.EMPTY, Role.RELOCATABLE]
    assert len({line[2] for line in driver.loads()}) == 1


def test_a_link_stub_need_not_load(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    stub = driver.answers(made.fatbin(made.cubin("75", size=1024)), NO_BINARY)
    report = load_modules(made.library(tmp_path / "lib.so", [native(driver), stub]), policy, settings(driver))
    assert report.verdict is Verdict.PASS
    assert [item.container.role for item in report.observed] == [Role.KERNELS, Role.LINK_STUB]
    assert report.observed[1].agrees is True


def test_a_driver_newer_than_the_tables_is_believed(tmp_path: Path, policy: GetPolicy) -> None:
    """What the tables do not say is no contradiction; what was seen was seen."""
    newer = StandIn(build(tmp_path / "newer", version="999.10"), tmp_path)
    report = load_modules(made.library(tmp_path / "lib.so", [native(newer)]), policy, settings(newer))
    assert report.observed[0].agrees is None
    assert report.verdict is Verdict.PASS
    bad = newer.answers(made.fatbin(made.cubin("89")), NO_BINARY)
    report = load_modules(made.library(tmp_path / "bad.so", [bad]), policy, settings(newer))
    assert report.verdict is Verdict.FAIL


def test_a_container_larger_than_any_pipe(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_NOISE"] = "a line that a library prints\n"
    large = made.fatbin(made.cubin("90", size=5 << 20))
    digest = fnv1a(large)
    driver.rows.append(f"{digest:016x} {' '.join(NATIVE)}")
    report = load_modules(made.library(tmp_path / "lib.so", [large, native(driver)]), policy, settings(driver))
    assert report.verdict is Verdict.PASS
    assert report.observed[0].sha256 == hashlib.sha256(large).hexdigest()


def test_a_device_that_another_check_holds_is_left_alone(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    file = made.library(tmp_path / "lib.so", [native(driver)])
    with (
        lease(driver.uuid, wait=0, folder=driver.folder),
        pytest.raises(InfrastructureError, match="in use by another check"),
    ):
        load_modules(file, policy, replace(settings(driver), wait=0.0))
    assert driver.loads() == []
    assert load_modules(file, policy, replace(settings(driver), wait=0.0)).verdict is Verdict.PASS


def test_nothing_to_load_is_no_pass(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    file = made.library(tmp_path / "lib.so", [], [made.fatbin(made.cubin("90"))])
    report = load_modules(file, policy, settings(driver))
    assert report.verdict is not Verdict.PASS
    assert report.status is ExitStatus.NOTHING_EXAMINED


def test_damage_fails_and_the_rest_is_still_loaded(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    cut = made.fatbin(made.cubin("90", 3))[:-4000]
    report = load_modules(made.library(tmp_path / "lib.so", [native(driver), cut]), policy, settings(driver))
    assert report.status is ExitStatus.CORRUPT_INPUT
    assert report.verdict is Verdict.FAIL
    assert results(report) == [SUCCESS]


# what a driver does to its process


def test_a_crash_is_an_outcome(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    bad = driver.answers(made.fatbin(made.cubin("90", 1)), "crash", *NATIVE[1:])
    file = made.library(tmp_path / "lib.so", [native(driver), bad, native(driver, 2)])
    report = load_modules(file, policy, settings(driver))
    assert results(report) == [SUCCESS, NoAnswer.CRASHED, SUCCESS]
    assert "SIGSEGV" in report.observed[1].answers[JitPass.AS_IS].detail
    assert report.verdict is Verdict.FAIL


def test_a_process_that_the_driver_leaves_behind_is_ended(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    """It holds the worker's pipes: the end of the worker is noticed all the same, and so is its own."""
    driver.more["STANDIN_INIT_DOES"] = "fork"
    bad = driver.answers(made.fatbin(made.cubin("90", 1)), "fork-crash", *NATIVE[1:])
    file = made.library(tmp_path / "lib.so", [native(driver), bad, native(driver, 2)])
    started = time.monotonic()
    report = load_modules(file, policy, settings(driver))
    assert results(report) == [SUCCESS, NoAnswer.CRASHED, SUCCESS]
    assert time.monotonic() - started < 8
    assert not left_behind(str(driver.folder))


def left_behind(mark: str) -> list[str]:
    """Processes that still have this in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.name != str(os.getpid()) and mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.parametrize("does", ["crash", "hang"])
def test_what_was_told_ahead_is_neither_lost_nor_blamed(
    driver: StandIn, tmp_path: Path, policy: GetPolicy, does: str
) -> None:
    """Many small containers lie in the worker's pipe when one before them ends it; some are larger than the pipe."""
    images = [
        driver.answers(
            made.fatbin(made.cubin("90", serial, size=3 << 20 if serial % 7 == 5 else 8192)),
            does if serial in {4, 11} else SUCCESS,
            *NATIVE[1:],
        )
        for serial in range(24)
    ]
    report = load_modules(
        made.library(tmp_path / "lib.so", images), policy, settings(driver, limits=Limits(start=10.0, container=0.5))
    )
    failed = [index for index, item in enumerate(report.observed) if not item.answers[JitPass.AS_IS].loaded]
    assert failed == [4, 11]
    assert {report.observed[index].result for index in failed} <= set(NoAnswer)
    assert [item.sha256 for item in report.observed] == [hashlib.sha256(image).hexdigest() for image in images]


def test_a_failure_that_decides_nothing_and_was_foreseen_is_not_repeated(
    driver: StandIn, tmp_path: Path, policy: GetPolicy
) -> None:
    """Drivers make contexts one after the other: a fourth one costs a fifth of a load (measured, H200)."""
    file = made.library(tmp_path / "lib.so", [native(driver, serial) for serial in range(3)])
    load_modules(file, policy, settings(driver))
    assert sum(mode == "2" for _, mode, *_ in driver.loads()) == 3
    load_modules(file, policy, settings(driver, fresh=True))
    assert len({process for process, mode, *_ in driver.loads() if mode == "2"}) == 2


def test_a_failure_that_decides_nothing_and_was_not_foreseen_is_repeated(
    driver: StandIn, tmp_path: Path, policy: GetPolicy
) -> None:
    strange = driver.answers(made.fatbin(made.cubin("90", 1)), SUCCESS, SUCCESS, BAD_PTX)
    load_modules(made.library(tmp_path / "lib.so", [strange]), policy, settings(driver))
    assert len({process for process, mode, *_ in driver.loads() if mode == "2"}) == 2


def test_a_hang_is_an_outcome(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    bad = driver.answers(made.fatbin(made.cubin("90", 1)), "hang", *NATIVE[1:])
    file = made.library(tmp_path / "lib.so", [native(driver), bad, native(driver, 2)])
    report = load_modules(file, policy, settings(driver, limits=Limits(start=10.0, container=0.3)))
    assert results(report) == [SUCCESS, NoAnswer.TIMED_OUT, SUCCESS]


def test_a_driver_that_always_hangs_ends_the_pass_soon(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    bad = [driver.answers(made.fatbin(made.cubin("90", serial)), "hang", *NATIVE[1:]) for serial in range(20)]
    report = load_modules(
        made.library(tmp_path / "lib.so", bad), policy, settings(driver, limits=Limits(start=10.0, container=0.1))
    )
    assert results(report) == [NoAnswer.TIMED_OUT] * 3 + [NoAnswer.NOT_TRIED] * 17
    assert report.verdict is Verdict.FAIL


def test_a_poisoned_context_does_not_fail_what_follows(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    poison = driver.answers(made.fatbin(made.cubin("90", 1)), "poison", *NATIVE[1:])
    file = made.library(tmp_path / "lib.so", [poison, native(driver, 2), native(driver, 3)])
    report = load_modules(file, policy, settings(driver))
    assert results(report) == [SUCCESS, SUCCESS, SUCCESS]
    assert report.verdict is Verdict.PASS
    told = report.observed[1].answers[JitPass.AS_IS].detail
    assert told.startswith("CUDA_ERROR_ILLEGAL_ADDRESS at first")
    assert report.observed[2].answers[JitPass.AS_IS].detail == ""


def test_two_processes_that_differ_are_settled_by_a_new_one(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    """The second process is spoilt without a sign by what fails first in it, the first one is not."""
    spoils = driver.answers(made.fatbin(made.cubin("89", 1)), "taint")
    bad = driver.answers(made.fatbin(made.cubin("89", 2)), NO_BINARY)
    report = load_modules(made.library(tmp_path / "lib.so", [native(driver), spoils, bad]), policy, settings(driver))
    assert results(report) == [SUCCESS, NO_BINARY, NO_BINARY]
    assert not report.disagreements


def test_every_failure_is_repeated_in_another_process(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    bad = [driver.answers(made.fatbin(made.cubin("89", serial)), NO_BINARY) for serial in range(3)]
    load_modules(made.library(tmp_path / "lib.so", bad), policy, settings(driver))
    processes = {(digest, process) for process, mode, digest, *_ in driver.loads() if mode == "0"}
    assert len(processes) == 6
    assert len({process for _, process in processes}) == 2


def test_every_failure_can_have_a_process_of_its_own(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    bad = [driver.answers(made.fatbin(made.cubin("89", serial)), NO_BINARY) for serial in range(3)]
    load_modules(made.library(tmp_path / "lib.so", bad), policy, settings(driver, fresh=True))
    assert len({process for process, mode, *_ in driver.loads() if mode == "0"}) == 4


@pytest.mark.parametrize("error", ["CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_DEVICE_UNAVAILABLE"])
def test_a_device_at_fault_is_no_verdict(driver: StandIn, tmp_path: Path, policy: GetPolicy, error: str) -> None:
    bad = driver.answers(made.fatbin(made.cubin("90", 1)), error)
    with pytest.raises(InfrastructureError, match=error):
        load_modules(made.library(tmp_path / "lib.so", [bad]), policy, settings(driver))


def test_a_busy_card_is_tried_again_and_that_is_told(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    """Three contexts are tried at once, so that the second try finds memory, or the third."""
    file = made.library(tmp_path / "lib.so", [native(driver)])
    (tmp_path / "busy").touch()
    driver.more |= {"STANDIN_BUSY": str(tmp_path / "busy"), "STANDIN_BUSY_FOR": "3"}
    told: list[str] = []
    chosen = replace(settings(driver), pauses=(0.01, 0.01), note=told.append)
    report = load_modules(file, policy, chosen)
    assert report.verdict is Verdict.PASS
    assert 1 <= len(report.faults) == len(told) <= 2
    assert "CUDA_ERROR_OUT_OF_MEMORY" in report.faults[0]
    assert report.to_json()["faults"] == list(report.faults)


def test_a_card_that_stays_busy_is_given_up_in_the_end(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_CONTEXT"] = "2"
    told: list[str] = []
    chosen = replace(settings(driver), pauses=(0.01, 0.01), note=told.append)
    with pytest.raises(InfrastructureError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        load_modules(made.library(tmp_path / "lib.so", [native(driver)]), policy, chosen)
    assert len(told) == 2


def test_what_stays_and_what_is_the_products_is_not_tried_again(
    driver: StandIn, tmp_path: Path, policy: GetPolicy
) -> None:
    told: list[str] = []
    chosen = replace(settings(driver), pauses=(0.01, 0.01), note=told.append)
    bad = driver.answers(made.fatbin(made.cubin("89")), NO_BINARY)
    file = made.library(tmp_path / "lib.so", [bad])
    assert load_modules(file, policy, chosen).verdict is Verdict.FAIL
    driver.more["STANDIN_INIT"] = "803"
    chosen = replace(chosen, environment=driver.environment())
    with pytest.raises(InfrastructureError, match="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"):
        load_modules(file, policy, chosen)
    assert told == []


def test_a_context_that_cannot_be_made_is_no_verdict(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_CONTEXT"] = "2"
    with pytest.raises(InfrastructureError, match="cuDevicePrimaryCtxRetain answers CUDA_ERROR_OUT_OF_MEMORY"):
        load_modules(made.library(tmp_path / "lib.so", [native(driver)]), policy, settings(driver))


# several at once


def test_jobs_keep_the_order_and_share_nothing(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    images = [
        driver.answers(made.fatbin(made.cubin("90", serial)), "poison" if serial % 5 == 1 else SUCCESS, *NATIVE[1:])
        for serial in range(20)
    ]
    chosen = replace(settings(driver), jobs=4)
    report = load_modules(made.library(tmp_path / "lib.so", images), policy, chosen)
    assert report.verdict is Verdict.PASS
    assert [item.sha256 for item in report.observed] == [hashlib.sha256(image).hexdigest() for image in images]
    assert len({process for process, mode, *_ in driver.loads() if mode == "1"}) == 4


def test_a_device_at_fault_ends_all_jobs(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    bad = driver.answers(made.fatbin(made.cubin("90", 1)), "CUDA_ERROR_OUT_OF_MEMORY")
    slow = [driver.answers(made.fatbin(made.cubin("90", serial)), "hang", *NATIVE[1:]) for serial in range(2, 4)]
    file = made.library(tmp_path / "lib.so", [*slow, bad])
    started = time.monotonic()
    with pytest.raises(InfrastructureError, match="OUT_OF_MEMORY"):
        load_modules(file, policy, replace(settings(driver, limits=Limits(start=10, container=60)), jobs=3))
    assert time.monotonic() - started < 20


# what the caller's environment must not decide


def test_the_callers_variables_do_not_change_a_pass(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more |= {"CUDA_DISABLE_PTX_JIT": "1", "CUDA_FORCE_PTX_JIT": "1", "CUDA_MODULE_LOADING": "LAZY"}
    jit = driver.answers(made.fatbin(made.ptx("80")), *BY_JIT)
    report = load_modules(made.library(tmp_path / "lib.so", [jit]), policy, settings(driver))
    assert report.verdict is Verdict.PASS
    assert {line[-1] for line in driver.loads()} == {"EAGER"}


# bare images and archives


def test_bare_images_and_archives(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    (tmp_path / "in").mkdir()
    text = b".version 9.0\n.target sm_80\n.address_size 64\n"
    (tmp_path / "in" / "a.ptx").write_bytes(driver.answers(text, *BY_JIT[:2], SUCCESS))
    (tmp_path / "in" / "b.fatbin").write_bytes(native(driver, 1) + native(driver, 2))
    made.library(tmp_path / "in" / "c.so", [native(driver, 3)])
    bundle = tmp_path / "bundle.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(tmp_path / "in", "bundle-1")
    report = load_modules(bundle, policy, settings(driver))
    assert [str(item.path).partition("bundle-1/")[2] for item in report.observed] == [
        "a.ptx",
        "b.fatbin!/0",
        "b.fatbin!/1",
        "c.so!/.nv_fatbin!/0",
    ]
    assert report.verdict is Verdict.PASS
    assert report.format == "tar.gz"


def test_a_path_that_is_not_there(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    with pytest.raises(UsageError):
        load_modules(tmp_path / "nowhere", policy, settings(driver))


def test_the_passes_are_those_of_the_rules() -> None:
    assert list(VARIABLES) == [jit.value for jit in JitPass]
