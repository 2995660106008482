"""``cubingate audit`` of one file for one target, all but the SHA-256 of the file itself."""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def main() -> None:
    """Audit the file named first for the target named second, and print what the command prints."""
    gc.set_threshold(100_000)  # as the program does
    from pipeline.audit import audit_artifacts
    from pipeline.inventory import take_inventory
    from pipeline.policy import load_policy
    from pipeline.report.audit_text import audit_text

    policy = load_policy()
    inventory = take_inventory(Path(sys.argv[1]), sha256="0" * 64)
    report = audit_artifacts([inventory], [policy.parse_target(sys.argv[2])], None, None, policy)
    sys.stdout.write(audit_text(report, colour=False))
    gc.freeze()


if __name__ == "__main__":
    main()
