"""How long a user waits to be told which asset is theirs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.bench.measure import Figure, cubingate, timed

_VECTORS = Path(__file__).resolve().parents[1] / "data" / "pick" / "vectors.json"
_ASSETS = 256
_BAR = 0.3  # seconds


def pick() -> Figure:
    """From a ``compat.json`` of 256 assets, each with a row for every GPU of the tables."""
    content = json.loads(_VECTORS.read_text(encoding="utf-8"))["releases"]["full"]
    models = [asset for asset in content["assets"] if asset["flavour"] == "cuda"]
    assets = [models[number % len(models)] | {"file": f"server-{number}.tar.gz"} for number in range(_ASSETS)]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "compat.json"
        source.write_text(json.dumps(content | {"assets": assets}), encoding="utf-8")
        run = timed(cubingate("pick", str(source), "--target", "80@535", "--host", "glibc=2.36,platform=x86_64"))
    measured = f"{run.seconds:.2f} s, {run.mib:.0f} MiB"
    return Figure(f"pick: one of {_ASSETS} assets", measured, "< 0.3 s", run.seconds < _BAR)
