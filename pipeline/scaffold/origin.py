"""Where this cubingate comes from, so that a workflow elsewhere can name it: a repository on GitHub and a commit."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pipeline.errors import UsageError

NOWHERE = "OWNER/cubingate"
NO_COMMIT = 40 * "0"
"""What stands in a workflow until somebody fills in which cubingate it is to use."""

_ORIGIN = re.compile(r"([A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100})@([0-9a-f]{40})", re.ASCII)
_URL = re.compile(r"https://github\.com/([A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}?)(?:\.git)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Origin:
    """``repository`` is OWNER/NAME, ``commit`` its 40 digits."""

    repository: str = NOWHERE
    commit: str = NO_COMMIT

    @property
    def known(self) -> bool:
        """Whether this is a commit, not what stands for one."""
        return self.commit != NO_COMMIT

    @classmethod
    def parse(cls, text: str) -> Origin:
        """``OWNER/NAME@COMMIT``; ``UsageError`` for anything else, a tag or branch too: those can be moved."""
        found = _ORIGIN.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{text!r} is not OWNER/NAME@COMMIT", remedy="a commit has 40 lower-case hexadecimal digits"
            )
        return cls(found[1], found[2])

    @classmethod
    def of_installation(cls, direct_url: str) -> Origin:
        """From what pip records of an installation from git (PEP 610, ``direct_url.json``); unknown for any other."""
        try:
            told: Any = json.loads(direct_url)
        except ValueError:
            return cls()
        vcs = told.get("vcs_info") if isinstance(told, dict) else None
        if not isinstance(vcs, dict):
            return cls()
        url, commit = _URL.fullmatch(str(told.get("url"))), str(vcs.get("commit_id"))
        return cls(url[1], commit) if url and re.fullmatch(r"[0-9a-f]{40}", commit) else cls()
