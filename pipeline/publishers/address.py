"""Which addresses may be sent a secret: those of https, and of this machine."""

from __future__ import annotations

import re

_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.ASCII)
_HERE = re.compile(rf"http://([^/?#@\\]*@)?{_LOOPBACK.pattern}([/?#].*)?", re.ASCII)


def is_loopback(host: str) -> bool:
    """Whether a host, with its port if it has one, is this machine."""
    return _LOOPBACK.fullmatch(host) is not None


def is_confidential(address: str) -> bool:
    """Whether nobody on the way reads along."""
    return address.startswith("https://") or _HERE.fullmatch(address) is not None
