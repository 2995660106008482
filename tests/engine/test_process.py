from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from pipeline.engine import supervisor
from pipeline.engine.interface import Launch
from pipeline.engine.process import ProcessEngine, ProcessServer, free_port
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path

# A daemon as the textbook makes it: two forks and its own session, so that no parent, group or session leads to it.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)  # the daemon"], {})
    os._exit(0)
os.wait()
print("daemon is out", flush=True)
"""
IGNORES_SIGTERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(300)"
)


@pytest.fixture
def launched(tmp_path: Path) -> Launch:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "model.gguf").touch()
    return Launch((), tmp_path / "bundle", tmp_path / "model.gguf", tmp_path / "logs" / "server.log")


def start(launch: Launch, *command: str, environment: dict[str, str] | None = None) -> ProcessServer:
    engine = ProcessEngine({"PATH": os.environ["PATH"], "SECRET": "x", "LD_LIBRARY_PATH": "/nowhere"})
    return engine.start(
        Launch(command, launch.bundle, launch.model, launch.log, environment if environment is not None else {})
    )


def ended(server: ProcessServer, seconds: float = 5.0) -> int:
    deadline = time.monotonic() + seconds
    while (status := server.exit_status()) is None:
        assert time.monotonic() < deadline, server.log_tail()
        time.sleep(0.01)
    return status


def logged(server: ProcessServer, text: str, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while text not in server.log_tail():
        assert time.monotonic() < deadline, server.log_tail()
        time.sleep(0.01)


def test_placeholders_reach_the_command_and_the_environment(launched: Launch) -> None:
    program = "import os, sys; print(sys.argv[1:], os.environ['LIBS'], os.getcwd())"
    server = start(
        launched, "{python}", "-c", program, "-m={model}", "{host}:{port}", environment={"LIBS": "{bundle}/lib"}
    )
    assert ended(server) == 0
    host = server.base_url.removeprefix("http://")
    assert server.log_tail() == f"['-m={launched.model}', '{host}'] {launched.bundle}/lib {launched.bundle}"
    assert server.stop(1) == ()


def test_the_environment_is_scrubbed_and_the_home_is_empty_and_temporary(launched: Launch) -> None:
    program = "import os; print(sorted(os.environ)); print(os.environ['HOME']); print(os.listdir(os.environ['HOME']))"
    server = start(launched, "{python}", "-I", "-c", program)
    assert ended(server) == 0
    names, home, content = server.log_tail().splitlines()
    assert [name for name in eval(names) if name != "LC_CTYPE"] == ["HOME", "PATH", "TMPDIR"]  # noqa: S307 - our own print
    assert content == "[]"
    server.stop(1)
    assert not os.path.exists(home)  # noqa: PTH110


@pytest.mark.parametrize(("program", "status"), [("exit(7)", 7), ("import os; os.abort()", -signal.SIGABRT)])
def test_the_exit_status_is_the_server_s_own(launched: Launch, program: str, status: int) -> None:
    server = start(launched, "{python}", "-c", program)
    assert ended(server) == status
    assert server.stop(1) == ()
    assert not list(launched.bundle.iterdir()), "no core file"


def test_a_command_that_is_not_there_ends_with_127(launched: Launch) -> None:
    server = start(launched, "{bundle}/llama-server")
    assert ended(server) == 127
    assert "No such file" in server.log_tail()
    assert server.stop(1) == ()


def test_a_file_that_is_no_program_ends_with_126(launched: Launch) -> None:
    (launched.bundle / "llama-server").write_text("not executable")
    server = start(launched, "{bundle}/llama-server")
    assert ended(server) == 126
    server.stop(1)


def test_an_obedient_server_ends_and_leaves_nothing(launched: Launch) -> None:
    server = start(launched, "{python}", "-c", "import time; print('up', flush=True); time.sleep(300)")
    logged(server, "up")
    assert server.exit_status() is None
    began = time.monotonic()
    assert server.stop(5) == ()
    assert time.monotonic() - began < 1
    assert supervisor.descendants(os.getpid()) == ()


def test_a_server_that_ignores_sigterm_is_named_and_killed(launched: Launch) -> None:
    server = start(launched, "{python}", "-c", IGNORES_SIGTERM)
    logged(server, "deaf")
    (left,) = server.stop(0.2)
    assert "still ran 0.2 s after SIGTERM" in left
    assert supervisor.descendants(os.getpid()) == ()


def test_an_orphan_that_hid_in_a_session_of_its_own_is_found_and_killed(launched: Launch) -> None:
    server = start(launched, "{python}", "-c", DAEMON)
    logged(server, "daemon is out")
    assert ended(server) == 0
    (left,) = server.stop(1)
    assert "the daemon" in left
    assert "outlived its server" in left
    assert supervisor.descendants(os.getpid()) == ()


def test_children_that_end_by_themselves_soon_after_are_not_left_over(launched: Launch) -> None:
    program = "import subprocess; subprocess.Popen(['sleep', '0.2'])"
    server = start(launched, "{python}", "-c", program)
    assert ended(server) == 0
    assert server.stop(1) == ()


def test_the_death_of_the_caller_ends_the_server(launched: Launch) -> None:
    server = start(launched, "{python}", "-c", DAEMON + "time.sleep(300)")
    logged(server, "daemon is out")
    tree = supervisor.descendants(os.getpid())
    assert len(tree) == 3, "supervisor, server, daemon"
    server._bury()  # the pipes close, as they do when this process is killed
    assert supervisor.descendants(os.getpid()) == ()


def test_a_killed_supervisor_is_infrastructure_and_what_it_leaves_is_ended(launched: Launch) -> None:
    forks = "import os, time; os.fork(); os.setsid() if os.fork() == 0 else None; time.sleep(300)"
    server = start(launched, "{python}", "-c", forks)
    tree: tuple[supervisor.Running, ...] = ()
    while len(tree) < 5:
        tree = supervisor.descendants(os.getpid())
    os.kill(server._supervisor.pid, signal.SIGKILL)
    server._supervisor.wait()
    with pytest.raises(InfrastructureError, match="supervisor"):
        server.exit_status()
    with pytest.raises(InfrastructureError, match="supervisor"):
        server.stop(1)
    alive = {process.pid for process in supervisor.descendants(1)}
    assert alive.isdisjoint(process.pid for process in tree)


def test_a_free_port_can_be_bound_and_exhaustion_is_infrastructure(
    launched: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 1024 <= free_port() <= 65535
    monkeypatch.setattr("pipeline.engine.process.HOST", "203.0.113.1")  # TEST-NET-3: nobody's own address
    with pytest.raises(InfrastructureError, match="no free port"):
        free_port()


def test_starting_is_quick(launched: Launch) -> None:
    began = time.monotonic()
    server = start(launched, sys.executable, "-I", "-S", "-c", "pass")
    assert ended(server) == 0
    assert time.monotonic() - began < 2
    server.stop(1)


def test_a_server_cannot_fill_the_disk(launched: Launch) -> None:
    begins = supervisor.FILE_LIMIT
    server = start(launched, "dd", "if=/dev/zero", f"of={launched.bundle}/big", "bs=1", "count=1", f"seek={begins}")
    try:
        assert ended(server) == -signal.SIGXFSZ
    finally:
        server.stop(1.0)


def test_a_server_that_stops_its_supervisor_is_killed_all_the_same(
    launched: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.engine.process._KILLED", 0.5)
    stops = "import os, signal, time; os.kill(os.getppid(), signal.SIGSTOP); print('stopped', flush=True)"
    server = start(launched, sys.executable, "-c", f"{stops}; time.sleep(300)  # {launched.bundle}")
    logged(server, "stopped")
    (left,) = server.stop(0.2)
    assert "still ran 0.2 s after SIGTERM" in left
    assert not running(str(launched.bundle))


def test_a_home_deeper_than_the_stack_is_removed(launched: Launch) -> None:
    deep = "import os; os.chdir(os.environ['HOME']); [(os.mkdir('d'), os.chdir('d')) for _ in range(1500)]"
    server = start(launched, sys.executable, "-c", f"import os; print(os.environ['HOME'], flush=True); {deep}")
    assert ended(server) == 0
    home = server.log_tail().splitlines()[0]
    server.stop(1.0)
    assert not os.path.exists(home)  # noqa: PTH110


def running(mark: str) -> bool:
    return any(mark in process.command for process in supervisor.descendants(1))
