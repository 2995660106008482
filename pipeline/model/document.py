"""The head that all JSON documents of this tool share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1


def document(kind: str, content: Mapping[str, Any]) -> str:
    """One JSON document of the contract: its version, kind and tool, then ``content``."""
    head = {"schema_version": SCHEMA_VERSION, "kind": kind, "tool": {"name": "cubingate", "version": __version__}}
    return json.dumps({**head, **content}, indent=1, ensure_ascii=True)
