"""``python -m pipeline`` and the command ``cubingate`` are the same program."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    from pipeline.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
