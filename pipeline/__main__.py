"""``python -m pipeline`` and the command ``cubingate`` are the same program."""

from __future__ import annotations

import gc
import sys

_ALLOCATIONS = 100_000


def main() -> None:
    """Run the command line and leave with its exit status."""
    # Hardly anything here refers to itself, and what start-up makes stays: looking for garbage finds none.
    gc.set_threshold(_ALLOCATIONS)
    from pipeline.cli import run

    status = run(sys.argv[1:])
    gc.freeze()  # nor need the interpreter look through all of it once more before it ends
    sys.exit(status)


if __name__ == "__main__":
    main()
