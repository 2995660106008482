"""The assembler's program, taken out of its wheel into a folder of ours, and how it is called."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput
from pipeline.rules.assembly import Assembler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.model.versions import PtxVersion, ToolkitVersion
    from pipeline.policy.rows import AssemblerRow

    Fetch = Callable[[AssemblerRow], Path]

_PTXAS = "/bin/ptxas"
_LARGEST = 256 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """An assembler that can be run."""

    path: Path

    def command(self, text: Path, arch: str, output: str) -> tuple[str, ...]:
        """Assemble ``text`` for ``arch`` (``90a``) into ``output`` as a driver does, telling of every function."""
        return (str(self.path), "-v", "-arch", f"sm_{arch}", "-o", output, str(text))


def unpacked(wheel: Path, folder: Path) -> Program:
    """The program of that wheel, below ``folder``; ``CorruptInput`` where it has none."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [item for item in archive.infolist() if item.filename.endswith(_PTXAS)]
            if len(members) != 1 or members[0].file_size > _LARGEST:
                raise CorruptInput(f"{wheel.name} has no ptxas")
            path = folder / f"ptxas-{wheel.stem}"
            path.write_bytes(archive.read(members[0]))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
        raise CorruptInput(f"{wheel.name} is no wheel: {error}") from error
    path.chmod(0o500)
    return Program(path)


def described(row: AssemblerRow, cuda: ToolkitVersion, newest: PtxVersion) -> Assembler:
    """The assembler as reports have it, standing for a driver of that CUDA version and newest PTX ISA."""
    reads = min(row.toolkit.ptx, newest)
    return Assembler(row.name, str(row.toolkit.version), str(cuda), str(reads), row.sha256)
