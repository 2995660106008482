"""Stand-in for actions/download-artifact: the files come from the folder ``STAND_IN_STORE``.

As the real one it fails for a name that is not there, and does not for a pattern that nothing matches.
"""

from __future__ import annotations

import os
import shutil
import sys
from fnmatch import fnmatchcase
from pathlib import Path


def main() -> int:
    name, pattern = os.environ["NAME"], os.environ["PATTERN"] or "*"
    store, into = Path(os.environ["STAND_IN_STORE"]), Path(os.environ["INTO"])
    artifacts = sorted(place for place in store.iterdir() if fnmatchcase(place.name, name or pattern))
    print(f"stand-in: copied from a folder of this machine: {', '.join(p.name for p in artifacts) or 'nothing'}")
    if name and not artifacts:
        print(f"::error::Artifact not found for name: {name}")
        return 1
    for place in artifacts:
        flat = name or os.environ["MERGE"] == "true"
        shutil.copytree(place, into if flat else into / place.name, dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
