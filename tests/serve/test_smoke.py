from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

import pytest

from pipeline.engine.process import HOST, ProcessEngine, free_port
from pipeline.errors import ExitStatus, InfrastructureError
from pipeline.model.finding import Status, Verdict
from pipeline.serve import completion
from pipeline.serve.launch import default_settings
from pipeline.serve.outcome import CheckId, Fault
from pipeline.serve.smoke import Smoke

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engine.interface import Launch, Server
    from pipeline.model.lane import SmokeSettings
    from tests.serve.conftest import SmokeFixture


def test_a_healthy_server_passes_every_check(smoked: SmokeFixture, tmp_path: Path) -> None:
    report = smoked()
    assert [check.id for check in report.checks] == list(CheckId)
    assert [check.id for check in report.checks if check.status is not Status.PASS] == [
        CheckId.GPU_STATED,
        CheckId.GPU_MEMORY,
        CheckId.GPU_MEMORY_RETURNED,
        CheckId.BUDGETS,
    ], report.to_json()
    assert {check.status for check in report.checks} == {Status.PASS, Status.NOT_APPLICABLE}
    assert report.verdict is Verdict.PASS
    assert report.status is ExitStatus.PASS
    assert report.outcome("smoke@cpu").status is Status.PASS
    assert report.seconds_after_ready is not None
    assert "server is listening" in (tmp_path / "logs" / "server.log").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["logs"], "the unpacked bundle is gone"


def test_a_slow_loader_that_answers_503_meanwhile_passes(smoked: SmokeFixture, bundle: Path) -> None:
    settings = replace(default_settings(bundle), environment={"FIXTURE_LOAD_SECONDS": "0.6"})
    report = smoked(settings=settings)
    assert report.verdict is Verdict.PASS
    assert report.checks[1].seconds >= 0.6


def test_a_server_without_health_but_with_models_passes(smoked: SmokeFixture) -> None:
    assert smoked("no-health").verdict is Verdict.PASS


def test_answers_in_pieces_are_read_whole(smoked: SmokeFixture) -> None:
    assert smoked("chunked").verdict is Verdict.PASS


@dataclass(frozen=True)
class Way:
    """One way to fail: the words, the check and the fault that must name it, and words of the reason."""

    words: str
    check: CheckId
    fault: Fault
    reason: str
    settings: dict[str, float] = field(default_factory=dict)


WAYS = (
    Way("hang-load", CheckId.READY, Fault.HANGS_BEFORE_READY, "/health answered 503", {"ready_timeout": 0.4}),
    Way("other-port", CheckId.READY, Fault.HANGS_BEFORE_READY, "nobody listened", {"ready_timeout": 0.4}),
    Way("mute", CheckId.READY, Fault.HANGS_BEFORE_READY, "healthy, but says no more", {"ready_timeout": 0.4}),
    Way("exit-load", CheckId.READY, Fault.DIES_AT_LOAD, "ended with status 1"),
    Way("abort-load", CheckId.READY, Fault.DIES_AT_LOAD, "killed by SIGABRT"),
    Way("segv-load", CheckId.READY, Fault.DIES_AT_LOAD, "killed by SIGSEGV"),
    Way("router", CheckId.READY, Fault.NO_MODEL, "names a model"),
    Way("wrong-model", CheckId.READY, Fault.WRONG_MODEL, "another.gguf"),
    Way("rubbish-models", CheckId.READY, Fault.ANSWERS_RUBBISH, "not JSON"),
    Way("exit-token", CheckId.FIRST_TOKEN, Fault.DIES_AT_FIRST_TOKEN, "ended with status 1"),
    Way("abort-token", CheckId.FIRST_TOKEN, Fault.DIES_AT_FIRST_TOKEN, "killed by SIGABRT"),
    Way("segv-token", CheckId.FIRST_TOKEN, Fault.DIES_AT_FIRST_TOKEN, "killed by SIGSEGV"),
    Way("segv-token,leave-socket", CheckId.FIRST_TOKEN, Fault.DIES_AT_FIRST_TOKEN, "killed by SIGSEGV"),
    Way("error-token", CheckId.FIRST_TOKEN, Fault.ANSWERS_ERROR, "500"),
    Way("non-json", CheckId.FIRST_TOKEN, Fault.ANSWERS_RUBBISH, "not JSON"),
    Way("wrong-shape", CheckId.FIRST_TOKEN, Fault.ANSWERS_RUBBISH, "lacks choices.0"),
    Way("zero-tokens", CheckId.FIRST_TOKEN, Fault.ANSWERS_RUBBISH, "completion_tokens is 0"),
    Way("two-tokens", CheckId.FIRST_TOKEN, Fault.ANSWERS_RUBBISH, "completion_tokens is 2"),
    Way("no-usage", CheckId.FIRST_TOKEN, Fault.ANSWERS_RUBBISH, "lacks usage"),
    Way("bad-finish", CheckId.FIRST_TOKEN, Fault.ANSWERS_RUBBISH, "finish_reason is 'error'"),
    Way("drop", CheckId.FIRST_TOKEN, Fault.DROPS_CONNECTION, "closed the connection"),
    Way("hang-up", CheckId.FIRST_TOKEN, Fault.DROPS_CONNECTION, "closed the connection"),
    Way("slow", CheckId.FIRST_TOKEN, Fault.ANSWERS_SLOWLY, "no answer after 0.4 s", {"token_timeout": 0.4}),
    Way("drip", CheckId.FIRST_TOKEN, Fault.ANSWERS_SLOWLY, "no answer after 0.4 s", {"token_timeout": 0.4}),
    Way("wrong-token", CheckId.EXPECTED_TOKEN, Fault.WRONG_TOKEN, "answered 'no', this model's token is 'ok'"),
    Way("exit-after-token", CheckId.TEARDOWN, Fault.DIES_AT_FIRST_TOKEN, "ended with status 3 by itself"),
    Way("ignore-sigterm", CheckId.TEARDOWN, Fault.IGNORES_SIGTERM, "within 0.3 s of SIGTERM", {"stop_timeout": 0.3}),
    Way("leave-child", CheckId.TEARDOWN, Fault.LEAVES_PROCESSES, "outlived its server"),
    Way("leave-daemon", CheckId.TEARDOWN, Fault.LEAVES_PROCESSES, "outlived its server"),
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.words)
def test_each_way_of_failing_is_refused_for_its_own_reason(smoked: SmokeFixture, bundle: Path, way: Way) -> None:
    report = smoked(way.words, settings=_settings(bundle, way))
    decisive = report.decisive
    assert decisive is not None
    assert (decisive.id, decisive.fault, decisive.status) == (way.check, way.fault, Status.FAIL), decisive
    assert way.reason in (decisive.reason or "")
    assert decisive.diagnosis is not None
    assert report.verdict is Verdict.FAIL
    assert report.status is ExitStatus.REFUSED
    assert [check.id for check in report.checks] == list(CheckId), "what was not reached is said"
    later = [check for check in report.checks if check.status is Status.SKIPPED]
    assert all(f"{way.check} did not pass" in (check.reason or "") for check in later)
    assert json.loads(json.dumps(report.to_json()))["verdict"] == "fail"


def _settings(bundle: Path, way: Way) -> SmokeSettings:
    return replace(default_settings(bundle), **{"stop_timeout": 3.0, **way.settings})  # type: ignore[arg-type]


def test_a_failed_check_shows_the_end_of_the_log(smoked: SmokeFixture) -> None:
    decisive = smoked("exit-load").decisive
    assert decisive is not None
    assert decisive.diagnosis is not None
    assert "error: told to exit at load" in decisive.diagnosis.log_tail


def test_an_unknown_device_is_refused_as_llama_server_refuses_it(smoked: SmokeFixture, bundle: Path) -> None:
    settings = replace(default_settings(bundle), device_arguments={"cpu": ("-dev", "CUDA0")})
    decisive = smoked(settings=settings).decisive
    assert decisive is not None
    assert decisive.fault is Fault.DIES_AT_LOAD
    assert decisive.diagnosis is not None
    assert "invalid device: CUDA0" in decisive.diagnosis.log_tail


def test_a_bundle_without_its_program_is_the_product_s_fault(smoked: SmokeFixture, bundle: Path) -> None:
    decisive = smoked(settings=SmokeSettingsWith(bundle, "{bundle}/bin/absent")).decisive
    assert decisive is not None
    assert decisive.fault is Fault.DIES_AT_LOAD
    assert "127" in (decisive.reason or "")


def SmokeSettingsWith(bundle: Path, program: str) -> SmokeSettings:  # noqa: N802
    return replace(default_settings(bundle), command=(program, "{device}"))


@dataclass
class Taken:
    """A chooser of ports whose first ``count`` choices somebody else holds, ``listening`` or not."""

    count: int
    listening: bool
    holders: list[socket.socket] = field(default_factory=list)

    def __call__(self) -> int:
        if len(self.holders) == self.count:
            return free_port()
        holder = socket.socket()
        holder.bind((HOST, 0))
        if self.listening:
            holder.listen()
        self.holders.append(holder)
        port: int = holder.getsockname()[1]
        return port

    def close(self) -> None:
        for holder in self.holders:
            holder.close()


def test_a_port_taken_meanwhile_is_tried_again_elsewhere(smoked: SmokeFixture) -> None:
    ports = Taken(1, listening=True)
    report = smoked(engine=ProcessEngine(os.environ, ports))
    ports.close()
    assert len(ports.holders) == 1
    assert report.verdict is Verdict.PASS


def test_ports_always_taken_do_not_judge_the_product(smoked: SmokeFixture) -> None:
    ports = Taken(9, listening=False)
    report = smoked(engine=ProcessEngine(os.environ, ports))
    ports.close()
    assert len(ports.holders) == 3
    assert report.decisive is not None
    assert report.decisive.fault is Fault.PORT_TAKEN
    assert report.decisive.status is Status.ERROR
    assert report.verdict is Verdict.UNKNOWN
    assert report.status is ExitStatus.INFRASTRUCTURE


class NoEngine:
    name = "process"

    def start(self, launch: Launch) -> Server:
        del launch
        raise InfrastructureError("no engine today")


def test_an_engine_that_cannot_start_does_not_judge_the_product(smoked: SmokeFixture) -> None:
    report = smoked(engine=NoEngine())
    assert report.verdict is Verdict.UNKNOWN
    assert report.checks[0].status is Status.ERROR
    assert {check.status for check in report.checks[1:]} == {Status.SKIPPED, Status.NOT_APPLICABLE}
    assert report.outcome("smoke@cpu").status is Status.ERROR
    assert report.outcome("smoke@cpu").reason == "start: no engine today"


class LostServer:
    """A server whose engine goes away once it is ready."""

    base_url = f"http://{HOST}:9"

    def exit_status(self) -> int | None:
        raise InfrastructureError("the engine went away")

    def processes(self) -> tuple[int, ...]:
        return ()

    def log_tail(self, lines: int = 40) -> str:
        return "" * lines

    def stop(self, timeout: float) -> tuple[str, ...]:
        del timeout
        raise InfrastructureError("the engine went away")


class LosingEngine:
    name = "docker"

    def start(self, launch: Launch) -> Server:
        del launch
        return LostServer()


def test_an_engine_that_goes_away_does_not_judge_the_product(smoked: SmokeFixture) -> None:
    report = smoked(engine=LosingEngine())
    assert report.verdict is Verdict.UNKNOWN
    assert report.checks[1].fault is Fault.INFRASTRUCTURE
    assert report.checks[list(CheckId).index(CheckId.TEARDOWN)].fault is Fault.INFRASTRUCTURE


class Interrupting:
    """Starts real servers and is interrupted while it waits for them."""

    name = "process"

    def __init__(self) -> None:
        self.server: Server | None = None

    def start(self, launch: Launch) -> Server:
        self.server = ProcessEngine(os.environ).start(launch)
        return self.server


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_client_that_breaks_does_not_judge_the_product(smoked: SmokeFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_url: str, _timeout: float) -> NoReturn:
        raise ModuleNotFoundError("No module named 'annotated_types'")

    monkeypatch.setattr(completion, "_client", broken)
    report = smoked()
    assert report.verdict is Verdict.UNKNOWN
    assert report.status is ExitStatus.INFRASTRUCTURE
    assert report.checks[2].seconds < 2, "nobody waits for an answer that cannot come"


def test_an_interrupted_smoke_stops_its_server(smoked: SmokeFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_self: Smoke, _server: Server, _began: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Smoke, "_wait", interrupted)
    engine = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        smoked(engine=engine)
    assert engine.server is not None
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((HOST, int(engine.server.base_url.rpartition(":")[2])))
