"""The compilers, out of wheels that are pinned by digest, each unpacked once into a folder of ours."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.model.lane import PrebuiltWheel
from pipeline.policy.jit import Part
from pipeline.policy.unknown import UnknownAssembler
from pipeline.rehearse.program import unpacked
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.model.jit import JitSource
    from pipeline.model.versions import DriverVersion, ToolkitVersion
    from pipeline.policy import Policy
    from pipeline.policy.jit import JitWheel
    from pipeline.policy.rows import AssemblerRow


@dataclass(frozen=True, slots=True)
class Assembling:
    """A ptxas that can be run, and its CUDA version (``None``: Triton's own, which its machine code tells)."""

    path: Path
    name: str
    toolkit: ToolkitVersion | None


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Brings compilers for machines of ``platform``. ``fetch`` brings a wheel, ``folder`` keeps what was unpacked.

    Not for two threads at once.
    """

    fetch: Callable[[PrebuiltWheel], Path]
    folder: Path
    platform: str
    policy: Policy

    def nvrtc(self, cuda: ToolkitVersion) -> tuple[Path, str]:
        """The library and its name; ``UnknownCompiler``, and whatever ``fetch`` raises."""
        row = self.policy.jit.wheel(Part.NVRTC, cuda, self.platform)
        root = self._root(_pinned(row))
        return _only(root, f"**/lib/libnvrtc.so.{cuda.major}*"), f"NVRTC {row.version}"

    def headers(self, source: JitSource, cuda: ToolkitVersion) -> tuple[Path, ...]:
        """The include folders of NVIDIA's headers that the source declares; runtime headers need those of crt."""
        parts = [Part(name) for name in source.headers]
        if Part.CUDART in parts and self.policy.jit.has(Part.CRT, cuda, self.platform):
            parts.append(Part.CRT)
        roots = [self._root(_pinned(self.policy.jit.wheel(part, cuda, self.platform))) for part in parts]
        found = [path for root in roots for path in sorted(root.glob("**/include")) if path.is_dir()]
        return tuple(folder for path in found for folder in (path, *path.glob("cccl")))

    def assembler(self, cuda: ToolkitVersion, arch: str) -> Assembling:
        """The toolkit's own ptxas; ``UnknownAssembler`` where it does not know the architecture."""
        for row in self.policy.assemblers:
            version = row.toolkit.version
            if (version.major, version.minor, row.platform) == (cuda.major, cuda.minor, self.platform):
                if row.knows(arch):
                    return self._assembling(row)
                raise UnknownAssembler(f"{row.name} does not know sm_{arch}")
        raise UnknownAssembler(f"no wheel has the ptxas of CUDA {cuda} for {self.platform}")

    def assembler_of_driver(self, driver: DriverVersion, arch: str) -> Assembling:
        """The ptxas that comes nearest to the driver's JIT; ``UnknownAssembler``, ``UnknownDriver``."""
        return self._assembling(self.policy.assembler(driver, arch, self.platform))

    def triton(self, wheel: PrebuiltWheel) -> Path:
        """The folder with Triton in it."""
        return self._root(wheel)

    def triton_assembler(self, wheel: PrebuiltWheel, sm: int) -> Assembling:
        """The ptxas that Triton brings: a second one for Blackwell in newer releases."""
        programs = self._root(wheel) / "triton/backends/nvidia/bin"
        blackwell = programs / "ptxas-blackwell"
        path = blackwell if sm >= 100 and blackwell.is_file() else programs / "ptxas"
        if not path.is_file():
            raise CorruptInput(f"{wheel.filename} has no ptxas")
        return Assembling(path, f"{path.name} of Triton {wheel.version}", None)

    def _assembling(self, row: AssemblerRow) -> Assembling:
        place = self.folder / row.sha256
        path = place / f"ptxas-{Path(row.filename).stem}"
        if not path.is_file():
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                wheel = self.fetch(PrebuiltWheel(row.package, row.version, row.filename, row.sha256))
                unpacked(wheel, Path(scratch))
                next(Path(scratch).glob("ptxas-*")).replace(path)
        return Assembling(path, row.name, row.toolkit.version)

    def _root(self, wheel: PrebuiltWheel) -> Path:
        place = self.folder / wheel.sha256
        if place.is_dir():
            return place
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            into = Path(scratch) / "wheel"
            into.mkdir()
            unpack(self.fetch(wheel), into)
            for program in into.glob("**/bin/*"):
                program.chmod(0o755)
            try:
                into.rename(place)
            except OSError as error:
                if not place.is_dir():  # another process may have been faster
                    raise InfrastructureError.of(error) from error
        return place


def _pinned(row: JitWheel) -> PrebuiltWheel:
    return PrebuiltWheel(row.package, row.version, row.filename, row.sha256)


def _only(root: Path, pattern: str) -> Path:
    found = sorted(path for path in root.glob(pattern) if ".alt." not in path.name)
    if not found:
        raise CorruptInput(f"{root.name}: the wheel has no {pattern}")
    return found[0]
