"""A card that is not there: a stand-in NVML, and servers that say and take what they are told to.

``talking_server`` is the real llama-server of a CPU bundle behind a script which prints what a CUDA build prints and
notes its memory in the stand-in's table, so that a whole smoke "on a GPU" runs where there is none.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests import toolchain

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = __file__.replace("card.py", "libnvidia_ml.c")
UUID = "GPU-00000000-1111-2222-3333-444444444444"
GIB = 1 << 30


@dataclass(slots=True)
class Card:
    """The stand-in's folder; ``environment`` makes the watcher find it."""

    folder: Path
    lines: list[str] = field(default_factory=list)

    @classmethod
    def made(cls, folder: Path) -> Card:
        folder.mkdir()
        toolchain.run(
            ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", SOURCE, "-o", folder / "libnvidia-ml.so.1"]
        )
        card = cls(folder)
        card.tell()
        return card

    @property
    def table(self) -> Path:
        return self.folder / "nvml.txt"

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_LIBRARY_PATH": str(self.folder), "PATH": "/usr/bin:/bin"}

    def tell(self, *more: str, used: int = GIB) -> None:
        lines = [f"uuid {UUID}", f"total {80 * GIB}", f"used {used}", *more]
        self.table.write_text("".join(f"{line}\n" for line in lines))


STATED = "load_tensors: offloaded 3/3 layers to GPU\nload_tensors:        CUDA0 model buffer size =     0.47 MiB"


def pretending(program: Path, card: Card, *, says: str = STATED, takes: int = GIB // 2, leaves: int = 0) -> str:
    """A script that is ``program`` with a GPU's words and a GPU's memory; ``leaves`` bytes stay when it ends."""
    table = shlex.quote(str(card.table))
    used = f"sed -i 's/^used .*/used {{}}/' {table}"
    return f"""#!/bin/sh
arguments=""
while [ $# -gt 0 ]; do
    case "$1" in -dev) shift ;; *) arguments="$arguments $1" ;; esac
    shift
done
printf '%s\\n' {shlex.quote(says)} >&2
{used.format(GIB + takes)}
{shlex.quote(str(program))} $arguments &
server=$!
trap 'kill -TERM $server' TERM
wait $server; wait $server
{used.format(GIB + leaves)}
"""
