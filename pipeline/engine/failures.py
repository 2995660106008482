"""The many ways in which the Docker SDK reports that the engine failed, as the one error of this tool."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """What the engine, or the way to it, throws inside becomes ``InfrastructureError``, saying ``doing``."""
    try:
        yield
    except (DockerException, RequestException, OSError) as error:
        raise InfrastructureError(f"the container engine failed while {doing}: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """The engine's own words, on one line."""
    text = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    return " ".join(str(text).split())
