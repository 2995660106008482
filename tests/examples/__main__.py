"""Copy an example with its stand-ins: `python -m tests.examples mlc-llm DIR`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.examples.standins import STAND_INS, prepare

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in STAND_INS:
        sys.exit(f"{__doc__}\none of {', '.join(STAND_INS)}")
    print(prepare(sys.argv[1], Path(sys.argv[2])))
