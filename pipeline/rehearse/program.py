"""Programs that stand for a driver's JIT: ptxas out of its wheel, or the driver's own JIT library; called alike."""

from __future__ import annotations

import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.model.versions import DriverVersion
from pipeline.rules.assembly import Assembler

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.policy import Policy
    from pipeline.policy.rows import AssemblerRow

    Fetch = Callable[[AssemblerRow], Path]

_PTXAS = "/bin/ptxas"
_LARGEST = 256 << 20
_LIBRARY = re.compile(r"libnvidia-ptxjitcompiler\.so\.(?P<driver>[0-9]{3}(?:\.[0-9]{1,4}){1,2})")
_CHILD = Path(__file__).with_name("jit_child.py")


@dataclass(frozen=True, slots=True)
class JitLibrary:
    """A driver's own JIT compiler. ``sha256`` is the file's."""

    path: Path
    driver: DriverVersion
    sha256: str

    @classmethod
    def at(cls, path: Path) -> JitLibrary:
        """The library at ``path``, links followed; ``UsageError`` unless its name tells which driver it is of."""
        real = path.resolve()
        named = _LIBRARY.fullmatch(real.name)
        if named is None or not real.is_file():
            raise UsageError(
                f"{path} is no libnvidia-ptxjitcompiler.so.VERSION", remedy="name the file as the driver installs it"
            )
        try:
            return cls(real, DriverVersion.parse(named["driver"]), file_sha256(real))
        except OSError as error:
            raise InfrastructureError.of(error) from error


@dataclass(frozen=True, slots=True)
class Program:
    """An assembler that can be run: the words that start it."""

    start: tuple[str, ...]

    def command(self, text: Path, arch: str, output: str) -> tuple[str, ...]:
        """Assemble ``text`` for ``arch`` (``90a``) into ``output`` as a driver does, telling of every function."""
        return (*self.start, "-v", "-arch", f"sm_{arch}", "-o", output, str(text))


def unpacked(wheel: Path, folder: Path) -> Program:
    """The ptxas of that wheel, below ``folder``; ``CorruptInput`` where it has none."""
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
    return Program((str(path),))


def of_library(library: JitLibrary) -> Program:
    """The library in a process of its own."""
    return Program((sys.executable, "-I", "-S", str(_CHILD), str(library.path)))


def described(by: AssemblerRow | JitLibrary, driver: DriverVersion, policy: Policy) -> Assembler:
    """The assembler as reports have it, standing for the JIT of ``driver``."""
    cuda, newest = policy.cuda_of(driver), policy.max_ptx(driver)
    if isinstance(by, JitLibrary):
        return Assembler(f"JIT library {by.driver}", str(cuda), str(cuda), str(newest), by.sha256)
    return Assembler(by.name, str(by.toolkit.version), str(cuda), str(min(by.toolkit.ptx, newest)), by.sha256)
