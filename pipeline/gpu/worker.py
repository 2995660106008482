"""The process that holds the driver: it may crash or hang, and its parent only loses one answer.

It reads messages (``wire``) from stdin and answers each with one line on stdout. It says first what it found (libcuda,
devices) or what failed; the first message is the index of a device, and every other one a container to load.
"""

from __future__ import annotations

import ctypes
import os

from pipeline.gpu.driver import SUCCESS, Driver, DriverFailure
from pipeline.gpu.wire import line, receive

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_SIGKILL = 9  # importing signal, and enum with it, takes as long as everything else here


def main() -> int:
    """Serve until stdin ends; 0 also after a failure that was told."""
    voice = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints must not be taken for an answer
    # A driver that hangs does not see that its parent is gone: the kernel does.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    try:
        driver = Driver()
    except OSError as error:
        _say(voice, {"failure": {"call": "dlopen", "code": -1, "name": str(error)}, "libcuda": ""})
        return 0
    try:
        _greet(driver, voice)
        chosen = receive(0)
        if chosen is not None:
            driver.use(int(chosen[:-1]))
            _say(voice, {"ready": True})
            _serve(driver, voice)
    except DriverFailure as failure:
        told = {"call": failure.call, "code": failure.code, "name": failure.name}
        _say(voice, {"failure": told, "libcuda": driver.path()})
    return 0


def _greet(driver: Driver, voice: int) -> None:
    driver.initialize()
    _say(voice, {"libcuda": driver.path(), "cuda": driver.cuda_version(), "devices": driver.devices()})


def _serve(driver: Driver, voice: int) -> None:
    while (image := receive(0)) is not None:
        loaded = driver.load(image)
        answer: dict[str, object] = {
            "result": loaded.name,
            "seconds": loaded.seconds,
            "jit_seconds": loaded.jit_seconds,
        }
        if loaded.name != SUCCESS:
            answer |= {"healthy": driver.healthy(), "log": loaded.log}
        _say(voice, answer)


def _say(voice: int, answer: dict[str, object]) -> None:
    rest = memoryview(line(answer))
    while rest:
        rest = rest[os.write(voice, rest) :]
