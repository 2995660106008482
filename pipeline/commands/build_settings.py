"""How this machine builds, read from its environment: registry, certificates, proxies, processors, time stamp."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.build.settings import BuildSettings

CA_BUNDLE = "CUBINGATE_CA_BUNDLE"
JOBS = "CUBINGATE_JOBS"

# The first one set wins; the others are what Python's and OpenSSL's clients obey.
_CA_VARIABLES = (CA_BUNDLE, "REQUESTS_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE")
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")

# 1980-01-01, the oldest time that every archive format can say.
_DEFAULT_EPOCH = "315532800"


def settings_for(matrix: Path, environment: Mapping[str, str]) -> BuildSettings:
    """How this machine builds, from ``environment``; Dockerfiles beside ``matrix`` go before the shipped ones.

    ``UsageError`` for a value that is no number, or certificates that are not there.
    """
    from pipeline.build.settings import BuildSettings, Network
    from pipeline.resources import find_resources

    proxies = {name: environment.get(name) or environment.get(name.lower()) for name in _PROXY_VARIABLES}
    network = Network(
        index_url=environment.get("PIP_INDEX_URL") or None,
        ca_bundle=ca_bundle(environment),
        proxies={name: value for name, value in proxies.items() if value},
    )
    return BuildSettings(
        resources=find_resources(beside=matrix.resolve().parent),
        network=network,
        source_date_epoch=_number("SOURCE_DATE_EPOCH", environment, _DEFAULT_EPOCH),
        jobs=_number(JOBS, environment, "0"),
    )


def ca_bundle(environment: Mapping[str, str]) -> Path | None:
    """The certificates that this machine's network needs; ``UsageError`` where the file is not there."""
    for name in _CA_VARIABLES:
        if environment.get(name):
            path = Path(environment[name])
            if not path.is_file():
                raise UsageError(f"{name}: there is no file {path}")
            return path.resolve()
    return None


def _number(name: str, environment: Mapping[str, str], default: str) -> int:
    text = environment.get(name) or default
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{name}: {text!r} is not a whole number")
    return int(text)
