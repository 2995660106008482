"""Where GitHub takes the files of a release, from the policy table of that name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.errors import InfrastructureError
from pipeline.model.paths import printable
from pipeline.policy.tables import FOLDER, read_table

if TYPE_CHECKING:
    from pathlib import Path

_SUBDOMAIN = "SUBDOMAIN"
_HOST = 100  # characters of one that a message repeats


def check_upload(address: str, api: str, folder: Path = FOLDER) -> None:
    """``InfrastructureError`` for an upload address at a host that is not the API's, or in the clear where that is not.

    A token goes along with every file, and it is for nobody but the server that was named.
    """
    asked = urlsplit(api)
    try:
        told = urlsplit(address)
    except ValueError:
        raise InfrastructureError("GitHub names an upload address that is none") from None
    host = _upload_host(asked.netloc.lower(), folder)
    if told.netloc.lower() != host or told.scheme not in {"https", asked.scheme}:
        place = printable(f"{told.scheme}://{told.netloc.rpartition('@')[2]}"[:_HOST])
        raise InfrastructureError(f"GitHub names {place} for uploads, and the token is for {asked.scheme}://{host}")


def _upload_host(api: str, folder: Path) -> str:
    """The host of uploads for that of an API: the same one on an enterprise server."""
    for row in read_table("github_hosts", folder):
        pattern = re.escape(row["api"]).replace(_SUBDOMAIN, r"([a-z0-9-]+)")
        found = re.fullmatch(pattern, api, re.ASCII)
        if found is not None:
            return row["uploads"].replace(_SUBDOMAIN, found[found.lastindex or 0])
    return api
