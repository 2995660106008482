"""Coverage-guided fuzzing of everything that an inventory reads: ``python fuzz/inventory.py CORPUS``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent))

with atheris.instrument_imports(include=["pipeline"]):
    from pipeline.errors import CubingateError
    from pipeline.formats.budgets import MIB, Budgets
    from pipeline.inventory import take_inventory

from tests.inventory.corpus import make_corpus

SECONDS, INPUT_SIZE = 10, 64 << 10
# The second one sends every member through the single pass over a stream.
BUDGETS = (
    Budgets(expansion_free=MIB, decompressed=64 * MIB, payload=MIB),
    Budgets(expansion_free=MIB, decompressed=64 * MIB, payload=MIB, buffered=500, kept=MIB),
)
PLACE = Path(tempfile.mkdtemp(prefix="cubingate-fuzz-")) / "artifact"


def read(content: bytes) -> None:
    """Read one input in both ways, deep and not; any error that is not expected ends the session."""
    PLACE.write_bytes(content)
    for budgets in BUDGETS:
        for deep in (False, True):
            try:
                inventory = take_inventory(PLACE, deep=deep, sha256="0", budgets=budgets)
            except CubingateError as error:
                raise AssertionError(f"a file on disk must give an inventory, not {error!r}") from error
            for damage in inventory.damage:
                assert "\n" not in f"{damage.path}: {damage.what}"  # noqa: S101


def main() -> None:
    """Write the seeds into the corpus folder if it is empty, then fuzz."""
    folders = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    for folder in folders[:1]:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            for name, content in make_corpus().items():
                (folder / name).write_bytes(content)
    atheris.Setup([*sys.argv, f"-timeout={SECONDS}", f"-max_len={INPUT_SIZE}"], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
