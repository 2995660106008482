"""Stand-in for actions/upload-artifact: the files go to the folder ``STAND_IN_STORE``, and nowhere else.

As the real one it leaves out what is hidden unless it is told not to, keeps the paths below the deepest folder that
all files share, forgets that a file was executable, and refuses a second artifact of one name unless that is wanted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    name, store = os.environ["NAME"], Path(os.environ["STAND_IN_STORE"])
    print(f"stand-in: artifact {name} is copied to a folder of this machine")
    roots = [Path(line) for line in os.environ["PATHS"].splitlines() if line.strip()]
    found = sorted({file for root in roots for file in _files(root) if _wanted(file)})
    if not found:
        print(f"::{'error' if os.environ['NONE'] == 'error' else 'warning'}::No files were found")
        return int(os.environ["NONE"] == "error")
    place = store / name
    if place.exists() and os.environ["OVERWRITE"] != "true":
        print(f"::error::an artifact with the name {name} already exists")
        return 1
    shutil.rmtree(place, ignore_errors=True)
    base = roots[0] if len(roots) == 1 and roots[0].is_dir() else Path(os.path.commonpath([f.parent for f in found]))
    for file in found:
        target = place / file.relative_to(base)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    meddler = os.environ.get("STAND_IN_MEDDLER")
    if meddler:  # whoever can write to the store, between one job and the next
        subprocess.run([sys.executable, "-I", meddler, os.environ["STAND_IN_MEDDLES"], name], cwd=store, check=True)
    return 0


def _files(root: Path) -> list[Path]:
    return [file for file in root.rglob("*") if file.is_file()] if root.is_dir() else [root] * root.is_file()


def _wanted(file: Path) -> bool:
    return os.environ["HIDDEN"] == "true" or not any(part.startswith(".") for part in file.parts)


if __name__ == "__main__":
    sys.exit(main())
