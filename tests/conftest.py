"""Which tests run where: markers decide, and a missing engine is never a silent pass in CI."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterable

OPT_IN = {"gpu": "CUBINGATE_GPU", "slow": "CUBINGATE_SLOW", "soak": "CUBINGATE_SOAK"}
REQUIRE_DOCKER = "CUBINGATE_REQUIRE_DOCKER"


def pytest_configure() -> None:
    """Heed Ctrl-C again: a shell's background job, as CI may be, starts with it ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Machines are shared: how long an example takes says nothing about the code.
    settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("shared")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Skip what must be asked for; skip Docker tests without an engine unless one is required."""
    engine = _engine_answers()
    for item in items:
        for marker, variable in OPT_IN.items():
            if item.get_closest_marker(marker) and not os.environ.get(variable):
                item.add_marker(pytest.mark.skip(reason=f"{marker} test: set {variable}=1 to run it"))
        if item.get_closest_marker("docker") and not engine and not os.environ.get(REQUIRE_DOCKER):
            item.add_marker(
                pytest.mark.skip(reason=f"no Docker engine answers ({REQUIRE_DOCKER}=1 makes this an error)")
            )


def _engine_answers() -> bool:
    """Asked by another process: the SDK leaves its socket open when nobody answers, and warnings are errors here."""
    asked = [sys.executable, "-c", "import docker; docker.from_env(timeout=10).ping()"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0
