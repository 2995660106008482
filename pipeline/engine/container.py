"""A bundle's server in a container that can do little else: no root, no capabilities, no writing, no way out."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from docker.errors import APIError, NotFound
from docker.types import DeviceRequest, LogConfig, Mount

from pipeline.engine.failures import engine_errors, reason_of
from pipeline.engine.labels import LANE, LAUNCH
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path

    from docker import DockerClient
    from docker.models.containers import Container

    from pipeline.engine.interface import Launch

_BUNDLE = "/bundle"
_MODEL = "/model"
_PORT = 8080
_NOBODY = 65534
_NETWORK = "cubingate-serve"
_PROCESSES = 512
_LOG_BYTES = "16m"

_NO_RUNTIME = "could not select device driver"
_NOT_EXECUTABLE = (126, 127)
"""What the engine notes for a container whose program cannot be executed or is not there."""


class ContainerServer:
    """One started server; ``stop`` removes its container and looks whether anything is left."""

    def __init__(self, client: DockerClient, container: Container, launch_id: str, log: Path) -> None:
        self._client = client
        self._container = container
        self._launch_id = launch_id
        self._log = log
        self._port = _published_port(container)

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:PORT`` on this machine."""
        return f"http://127.0.0.1:{self._port}"

    def exit_status(self) -> int | None:
        """As ``subprocess`` says it: ``None`` while running, negative for a signal."""
        with engine_errors("watching the server"):
            self._container.reload()
        state = self._container.attrs["State"]
        code = int(state["ExitCode"])
        if state["Status"] not in {"exited", "dead"} and code not in _NOT_EXECUTABLE:
            return None
        return 128 - code if code > 128 else code

    def processes(self) -> tuple[int, ...]:
        """The ids of the container's processes on the engine's machine; none where it has ended."""
        with engine_errors("listing the server's processes"):
            if self.exit_status() is not None:
                return ()
            rows = self._container.top(ps_args="-o pid")["Processes"] or ()
        return tuple(int(row[0]) for row in rows)

    def log_tail(self, lines: int = 40) -> str:
        """The end of what the server printed."""
        with engine_errors("reading the server's log"):
            printed = self._container.logs(tail=lines).decode("utf-8", "replace")
        return printed or str(self._container.attrs["State"]["Error"])

    def stop(self, timeout: float) -> tuple[str, ...]:
        """End the server within ``timeout`` seconds, keep its log, remove its container; name whatever is left."""
        try:
            with engine_errors("stopping the server"), suppress(NotFound):
                self._container.stop(timeout=max(1, round(timeout)))
            self._keep_log()
        finally:
            _remove(self._container)
        return self._left_over()

    def _keep_log(self) -> None:
        with engine_errors("reading the server's log"), suppress(NotFound):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("wb") as stream:
                for piece in self._container.logs(stream=True, follow=False):
                    stream.write(piece)

    def _left_over(self) -> tuple[str, ...]:
        rest = _launched(self._client, self._launch_id)
        return tuple(f"container {container.name} ({container.status})" for container in rest)


def start_container(client: DockerClient, launch: Launch) -> ContainerServer:
    """Start ``launch`` in its image; ``InfrastructureError`` when the engine cannot.

    A command that is not in the bundle, or not executable, is the product's fault: the server then has ended at once.
    """
    if launch.image is None:
        raise InfrastructureError("a server in a container needs an image", remedy="give the lane a base image")
    launch_id = uuid.uuid4().hex[:12]
    try:
        with engine_errors("starting the server"):
            container = _create(client, launch, launch.image, launch_id, _network(client))
            _start(container)
        return ContainerServer(client, container, launch_id, launch.log)
    except BaseException:
        # By label, not by handle: an interruption may come between the engine's making it and our hearing of it.
        for rest in _launched(client, launch_id):
            _remove(rest)
        raise


def _start(container: Container) -> None:
    try:
        container.start()
    except APIError as error:
        if _NO_RUNTIME in str(error.explanation):
            raise InfrastructureError(
                f"the container engine cannot give a container a GPU: {reason_of(error)}",
                remedy="install nvidia-container-toolkit and restart the engine, or set smoke.contain to false",
            ) from error
        container.reload()
        if int(container.attrs["State"]["ExitCode"]) not in _NOT_EXECUTABLE:
            raise
    container.reload()


def _create(client: DockerClient, launch: Launch, image: str, launch_id: str, network: str) -> Container:
    model = f"{_MODEL}/{launch.model.name}"
    program, *arguments = (_filled(word, model) for word in launch.command)
    return client.containers.create(
        image,
        # As entry point, so that an image's own (nvidia/cuda has one) does not come in between.
        entrypoint=[program],
        command=arguments,
        name=f"cubingate-{launch_id}",
        labels={LANE: launch.lane, LAUNCH: launch_id},
        environment={"HOME": "/tmp", **launch.environment},  # noqa: S108
        working_dir=_BUNDLE,
        user=f"{_unprivileged()}:{_NOBODY}",
        mounts=[
            Mount(_BUNDLE, str(launch.bundle.resolve()), type="bind", read_only=True),
            Mount(model, str(launch.model.resolve()), type="bind", read_only=True),
        ],
        # A first process of our own making: as process 1 a server would not die of its own SIGABRT or SIGTERM.
        init=True,
        read_only=True,
        tmpfs={"/tmp": "rw,nosuid,nodev,mode=1777"},  # noqa: S108
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        pids_limit=_PROCESSES,
        network=network,
        ports={f"{_PORT}/tcp": ("127.0.0.1", 0)},  # 0: any free port
        log_config=LogConfig(type="json-file", config={"max-size": _LOG_BYTES}),
        device_requests=_gpus(launch.gpus),
        detach=True,
    )


def _filled(word: str, model: str) -> str:
    places = {"{bundle}": _BUNDLE, "{model}": model, "{host}": "0.0.0.0", "{port}": str(_PORT)}  # noqa: S104
    for place, value in places.items():
        word = word.replace(place, value)
    return word


def _unprivileged() -> int:
    """The caller, who can read the bundle; ``nobody`` when the caller is root."""
    return os.getuid() or _NOBODY


def _gpus(uuids: tuple[str, ...]) -> list[DeviceRequest] | None:
    """By UUID, of a GPU or a MIG slice: an index would count other cards on another day."""
    if not uuids:
        return None
    return [DeviceRequest(driver="nvidia", device_ids=list(uuids), capabilities=[["gpu", "compute", "utility"]])]


def _network(client: DockerClient) -> str:
    """A bridge whose containers reach neither each other nor the world: only the published port leads in."""
    if not client.networks.list(names=[_NETWORK]):
        try:
            client.networks.create(
                _NETWORK,
                driver="bridge",
                check_duplicate=True,
                labels={LANE: "network"},
                options={
                    "com.docker.network.bridge.enable_icc": "false",
                    "com.docker.network.bridge.enable_ip_masquerade": "false",
                },
            )
        except APIError as error:
            if error.status_code != 409:  # another run made it meanwhile
                raise
    return _NETWORK


def _launched(client: DockerClient, launch_id: str) -> list[Container]:
    with engine_errors("looking for left-over containers"):
        return client.containers.list(all=True, filters={"label": f"{LAUNCH}={launch_id}"})


def _published_port(container: Container) -> int:
    bindings = container.attrs["NetworkSettings"]["Ports"].get(f"{_PORT}/tcp") or ()
    for binding in bindings:
        return int(binding["HostPort"])
    # A server that died at once has no port any more; its exit status tells the story.
    return 0


def _remove(container: Container) -> None:
    with engine_errors("removing the container"), suppress(NotFound):
        container.remove(force=True, v=True)
