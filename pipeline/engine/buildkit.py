"""One BuildKit build over the Docker SDK's own connection: cache mounts, streamed output, cancellation.

The engine's ``POST /build?version=2`` needs neither a ``docker`` client nor its buildx plugin. Secrets would need a
gRPC session, which it does not offer; what must not stay in the image is bind-mounted from the context instead.
Known to work with engines 20.10 and later. Reference: https://docs.docker.com/reference/api/engine/
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from docker.errors import DockerException
from requests.exceptions import RequestException

from pipeline.engine.failures import reason_of
from pipeline.engine.labels import LANE
from pipeline.engine.progress import Step, StepOutput, decode_status
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker.api.client import APIClient
    from requests import Response

    from pipeline.engine.context import BuildContext

# `[compile 3/4] RUN …`; a Dockerfile of one stage has numbers only.
_STAGE = re.compile(r"\[(?P<stage>\S+) +\d+/\d+\]")
_EXIT_CODE = re.compile(r"exit code: (\d+)")
_TAIL_LINES = 60
_SPOOL_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What to build and what to call it. ``arguments`` are build arguments, which the result does not remember."""

    lane: str
    tag: str
    context: BuildContext
    arguments: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class BuildStepFailed(InfrastructureError):
    """A step of a Dockerfile ended badly. Whose fault it is, the caller knows by the ``stage`` it was in.

    ``stage`` is empty when the engine does not say; ``exit_code`` is ``None`` when no program ran. ``tail`` is the end
    of what the build printed.
    """

    def __init__(self, message: str, *, stage: str, exit_code: int | None, tail: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.exit_code = exit_code
        self.tail = tail


def run_build(api: APIClient, request: BuildRequest, progress: Callable[[str], None]) -> None:
    """Build ``request`` and tag the result; every line of output goes to ``progress``.

    ``BuildStepFailed`` when a step fails, ``InfrastructureError`` when the engine goes away. Leaving by any exception,
    Ctrl-C included, cancels the build in the engine.
    """
    build_id = uuid.uuid4().hex
    transcript = _Transcript(progress)
    finished = False
    try:
        with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as tar:
            request.context.write(tar)
            tar.seek(0)
            response = _post(api, request, build_id, tar)
            with response:
                for line in response.iter_lines():
                    transcript.hear(json.loads(line))
        finished = True
    except (DockerException, RequestException, OSError, ValueError) as error:
        raise InfrastructureError(
            f"the container engine failed during the build of {request.lane}: {reason_of(error)}"
        ) from error
    finally:
        transcript.flush()
        if not finished:
            _cancel(api, build_id)
    transcript.judge(request.lane)


def _post(api: APIClient, request: BuildRequest, build_id: str, tar: IO[bytes]) -> Response:
    parameters = {
        "version": "2",
        "t": request.tag,
        "buildid": build_id,
        "labels": json.dumps({LANE: request.lane, **request.labels}),
        "buildargs": json.dumps(request.arguments),
        "rm": "1",
        "forcerm": "1",
    }
    # Compiling can be silent for many minutes: no read timeout, the engine's own end is noticed by the socket.
    response = api.post(
        _url(api, "build"),
        data=tar,
        params=parameters,
        headers={"Content-Type": "application/x-tar"},
        stream=True,
        timeout=None,
    )
    if not response.ok:
        raise InfrastructureError(
            f"the container engine refuses to build {request.lane}: {' '.join(response.text.split())}",
            remedy="it must be a Docker engine with BuildKit (20.10 or later)",
        )
    return response


def _cancel(api: APIClient, build_id: str) -> None:
    """Closing the connection already ends the build; asking as well covers engines behind a proxy."""
    with suppress(DockerException, RequestException, OSError):
        api.post(_url(api, "build/cancel"), params={"id": build_id}, timeout=10)


def _url(api: APIClient, path: str) -> str:
    return f"{api.base_url}/v{api.api_version}/{path}"


class _Transcript:
    """Turns the engine's messages into lines and remembers how it ended."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._names: dict[str, str] = {}
        self._announced: set[tuple[str, str]] = set()
        self._partial: dict[str, bytes] = {}
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._failed: Step | None = None
        self._error = ""
        self._complete = False

    def hear(self, message: dict[str, Any]) -> None:
        if "error" in message:
            self._error = str(message["error"])
        elif message.get("id") == "moby.buildkit.trace":
            self._hear_trace(str(message["aux"]))
        elif isinstance(message.get("aux"), dict) and "ID" in message["aux"]:
            self._complete = True
        elif "stream" in message:
            self._print("engine", str(message["stream"]).encode())

    def _hear_trace(self, encoded: str) -> None:
        try:
            steps, outputs = decode_status(base64.b64decode(encoded))
        except ValueError as error:
            raise InfrastructureError(f"the engine's build progress cannot be read: {error}") from error
        for step in steps:
            self._hear_step(step)
        for output in outputs:
            self._hear_output(output)

    def _hear_step(self, step: Step) -> None:
        self._names[step.digest] = step.name
        if step.error and not step.error.endswith("context canceled"):
            self._failed = step
        if not step.started and not step.cached:
            return
        state = "cached" if step.cached else "started"
        if (step.digest, state) not in self._announced:
            self._announced.add((step.digest, state))
            self._say(f"{_short(step.name)}{' (cached)' if step.cached else ''}")

    def _hear_output(self, output: StepOutput) -> None:
        self._print(output.digest, output.text)

    def _print(self, source: str, text: bytes) -> None:
        whole, newline, rest = (self._partial.pop(source, b"") + text).rpartition(b"\n")
        if rest:
            self._partial[source] = rest
        if newline:
            for line in whole.split(b"\n"):
                self._say(line.decode("utf-8", "replace").rstrip("\r"))

    def _say(self, line: str) -> None:
        self._tail.append(line)
        self._progress(line)

    def flush(self) -> None:
        for rest in self._partial.values():
            self._say(rest.decode("utf-8", "replace"))
        self._partial.clear()

    def judge(self, lane: str) -> None:
        """Raise unless the engine said that the build is complete."""
        if self._error:
            raise self._failure(lane)
        if not self._complete:
            raise InfrastructureError(
                f"the container engine ended the build of {lane} without a result",
                remedy="look whether the engine is still running, then run again",
            )

    def _failure(self, lane: str) -> BuildStepFailed:
        code = _EXIT_CODE.search(self._error)
        stage = _STAGE.match(self._failed.name) if self._failed else None
        last = self._error.splitlines()[-1] if self._error.splitlines() else "no reason given"
        return BuildStepFailed(
            f"{lane}: the build failed: {_short(last)}",
            stage=stage["stage"] if stage else "",
            exit_code=int(code[1]) if code else None,
            tail="\n".join(self._tail),
        )


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
