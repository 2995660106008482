"""Measure and print; the exit status says whether every bar was met."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.bench import auditing, environment, gate, picking, rehearsing, street

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.measure import Figure

BENCHMARKS: dict[str, Callable[[], Figure]] = {
    "version": street.version,
    "plan": street.plan,
    "smoke": street.smoke,
    "second-run": street.second_run,
    "gate": gate.gate,
    "pick": picking.pick,
    "page": gate.page,
    "library": auditing.library,
    "wheel": auditing.wheel,
    "tarball": auditing.tarball,
    "environment": environment.environment,
    "rehearsal": rehearsing.rehearsal,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    met = True
    for name in names or BENCHMARKS:
        figure = BENCHMARKS[name]()
        met &= figure.met
        print(
            f"{figure.name:45} {figure.measured:>50}  {figure.bar:20} {'met' if figure.met else 'NOT MET'}", flush=True
        )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
