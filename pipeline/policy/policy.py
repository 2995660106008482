"""Answers the rules' questions from the policy tables; what they do not say is raised, never guessed."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.model.image import Codec, EntryKind
from pipeline.model.target import CompressionMode, Target
from pipeline.model.versions import DriverVersion, ToolkitVersion
from pipeline.policy import unknown
from pipeline.policy.rows import CompatStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.arch import Gpu, TargetArch
    from pipeline.model.versions import GlibcVersion, GlibcxxVersion, PtxVersion
    from pipeline.policy.jit import JitTables
    from pipeline.policy.rows import (
        AssemblerRow,
        BoardRow,
        Branch,
        CompatRow,
        CompressionRow,
        CudaError,
        CudaSoname,
        GpuRow,
        HostLibrary,
        KindRow,
        OptionalStack,
        RuntimeRow,
        ToolkitRow,
    )

_FORM = "write SM@DRIVER, such as 80@535.288.01 or 90@580"
_KIND_WORDS = {EntryKind.PTX: "ptx", EntryKind.CUBIN: "cubin"}


def _squeezed(name: str) -> str:
    return re.sub(r"[\W_]|nvidia|tesla|geforce", "", name.casefold())


@dataclass(frozen=True, slots=True)
class Policy:
    """The world's facts, read once and checked. ``date`` (ISO) is the newest row's."""

    date: str
    branches: tuple[Branch, ...]
    toolkits: tuple[ToolkitRow, ...]
    assemblers: tuple[AssemblerRow, ...]
    jit: JitTables
    gpus: tuple[GpuRow, ...]
    codec_floors: dict[Codec, DriverVersion | None]
    cubin_abi_floors: dict[int, DriverVersion | None]
    compression: tuple[CompressionRow, ...]
    kinds: tuple[KindRow, ...]
    compatibility: tuple[CompatRow, ...]
    errors: tuple[CudaError, ...]
    ptx_minimum: dict[str, PtxVersion]
    symbols: dict[str, ToolkitVersion | None]
    boards: tuple[BoardRow, ...]
    host_libraries: dict[str, HostLibrary]
    optional_stacks: tuple[OptionalStack, ...]
    runtimes: tuple[RuntimeRow, ...]
    manylinux: tuple[RuntimeRow, ...]
    cuda_sonames: dict[str, CudaSoname]

    # drivers

    def branch(self, driver: DriverVersion) -> Branch:
        """The row that says what ``driver`` can do: its branch, or the newest listed one below it.

        ``UnknownDriver`` when it is older than the first or newer than the last branch of the table.
        """
        place = bisect_right(self.branches, driver.branch, key=lambda row: row.number)
        if place == 0 or driver.branch > self.branches[-1].number:
            side = "older" if place == 0 else "newer"
            raise unknown.UnknownDriver(f"driver {driver} is {side} than the policy tables of {self.date}")
        return self.branches[place - 1]

    def same_limits(self, one: DriverVersion, other: DriverVersion) -> bool:
        """Whether a module that one driver takes is one that the other takes, as far as the tables know.

        That holds inside a branch, except where a row's floor lies between the two: 550.40.07 and 550.54.14 are
        both R550, and only the later one unpacks Zstandard.
        """
        below, above = sorted((one, other))
        return one.branch == other.branch and not any(below < floor <= above for floor in self._floors())

    def proves(self, seen: str, promised: str) -> bool:
        """Whether what passed on the target ``seen`` (``80@535.288.01``) is a proof of ``promised``.

        The same SM, and a driver of the same branch with the same limits. What names no target proves nothing.
        """
        if seen == promised:
            return True
        try:
            there, here = self.parse_target(seen), self.parse_target(promised)
        except UsageError:
            return False
        return there.sm == here.sm and self.same_limits(there.driver, here.driver)

    def _floors(self) -> Iterator[DriverVersion]:
        """Every driver version at which, by some table, something begins to work."""
        yield from (row.first_driver for row in self.branches if row.first_driver is not None)
        yield from (floor for floor in self.codec_floors.values() if floor is not None)
        yield from (floor for floor in self.cubin_abi_floors.values() if floor is not None)
        yield from (row.cubin_floor for row in self.toolkits)
        yield from (row.first_driver for row in self.gpus)

    def max_ptx(self, driver: DriverVersion) -> PtxVersion:
        """Newest PTX ISA that the driver's JIT reads; ``UnknownDriver``."""
        return self.branch(driver).max_ptx

    def cuda_of(self, driver: DriverVersion) -> ToolkitVersion:
        """CUDA version that the driver reports; ``UnknownDriver``."""
        return self.branch(driver).cuda

    def first_driver_with_ptx(self, ptx: PtxVersion) -> DriverVersion:
        """Lowest driver whose JIT reads this PTX ISA; ``UnknownDriver`` when none of the tables does."""
        for row in self.branches:
            if row.max_ptx >= ptx:
                return row.first_driver or DriverVersion(f"{row.number}.0")
        raise unknown.UnknownDriver(f"PTX ISA {ptx} is newer than the policy tables of {self.date}")

    def first_driver_with_cuda(self, cuda: ToolkitVersion) -> DriverVersion:
        """Lowest driver that reports this CUDA version or a newer one; ``UnknownDriver``."""
        for row in self.branches:
            if row.cuda >= cuda:
                return row.first_driver or DriverVersion(f"{row.number}.0")
        raise unknown.UnknownDriver(f"CUDA {cuda} is newer than the policy tables of {self.date}")

    def parse_target(self, text: str) -> Target:
        """Read ``80@535.288.01`` or ``80@535`` (that branch's first toolkit driver); ``UsageError`` if malformed.

        A branch above the tables is accepted here and judged ``unknown`` later.
        """
        sm, at, driver = text.partition("@")
        if not at or not sm.isascii() or not sm.isdigit() or not 2 <= len(sm) <= 3:
            known = self._sm_of(sm)
            remedy = _FORM if known is None else f"write its SM number, which for {sm} is {known}: {known}@{driver}"
            raise UsageError(f"{text!r} is not a target: {sm[:40]!r} is no SM number", remedy=remedy)
        if driver.isascii() and driver.isdigit() and 0 < len(driver) <= 6:
            return Target(sm=int(sm), driver=self._toolkit_driver(int(driver)))
        try:
            return Target(sm=int(sm), driver=DriverVersion.parse(driver))
        except ValueError as error:
            raise UsageError(f"{text!r} is not a target: {error}", remedy=_FORM) from None

    def _sm_of(self, name: str) -> int | None:
        """The SM of the board that is sold under this name, in small letters or without spaces too."""
        asked = _squeezed(name)
        return next((row.gpu.number for row in self.gpus if asked in map(_squeezed, row.products)), None)

    def _toolkit_driver(self, branch: int) -> DriverVersion:
        for row in self.branches:
            if row.number == branch:
                if row.first_driver is None:
                    raise UsageError(f"no toolkit shipped with {row.label}", remedy="name the full driver version")
                return row.first_driver
        if branch > self.branches[-1].number:
            return DriverVersion(f"{branch}.0")
        raise UsageError(f"R{branch} is not a driver branch of the tables", remedy="name the full driver version")

    def assembler(self, driver: DriverVersion, arch: str, platform: str) -> AssemblerRow:
        """The ptxas that comes nearest to the JIT of ``driver`` for ``arch`` (``90a``), on a machine of ``platform``.

        That of the branch's CUDA version, or the first later one that is to be had; where those know the architecture
        no more, the newest that did. ``UnknownAssembler`` where none does, ``UnknownDriver``.
        """
        cuda = self.cuda_of(driver)
        fitting = [row for row in self.assemblers if row.platform == platform and row.knows(arch)]
        if not fitting:
            raise unknown.UnknownAssembler(f"no ptxas of the tables of {self.date} knows sm_{arch} on {platform}")
        later = (row for row in fitting if row.toolkit.version >= cuda)
        return next(later, fitting[-1])

    # GPUs and architectures

    def gpu_row(self, number: int) -> GpuRow:
        """Everything about an SM number; ``UnknownGpu``."""
        for row in self.gpus:
            if row.gpu.number == number:
                return row
        raise unknown.UnknownGpu(f"sm_{number} is not in the policy tables of {self.date}")

    def gpu(self, number: int) -> Gpu:
        """The GPU generation behind an SM number; ``UnknownGpu``."""
        return self.gpu_row(number).gpu

    def gpu_floor(self, number: int) -> DriverVersion:
        """First driver that serves this GPU generation; ``UnknownGpu``. Single products can need a later build."""
        return self.gpu_row(number).first_driver

    def gpu_last_branch(self, number: int) -> int | None:
        """Last driver branch that serves this GPU, ``None`` while it is still served; ``UnknownGpu``."""
        return self.gpu_row(number).last_branch

    def tegra(self, number: int) -> bool:
        """Whether the SM number is an integrated GPU's; an unlisted number is not known to be one."""
        return any(row.gpu.tegra for row in self.gpus if row.gpu.number == number)

    def ptx_minimum_of(self, arch: TargetArch) -> PtxVersion:
        """Lowest PTX ISA in which this target can be written; ``UnknownArch``."""
        found = self.ptx_minimum.get(arch.name)
        if found is None:
            raise unknown.UnknownArch(f"{arch} is not in the policy tables of {self.date}")
        return found

    def board(self, name: str) -> BoardRow | None:
        """The kind of board that is sold under this name (``H100 NVL``, ``RTX 4090``); ``None``: not listed."""
        return next((row for row in self.boards if re.fullmatch(row.pattern, name.strip())), None)

    def boards_of(self, target: Target) -> tuple[BoardRow | None, ...]:
        """The kinds of boards a target may be: the one it names, else those of its SM; ``None`` for one not listed."""
        if target.gpu is not None:
            return (self.board(target.gpu),)
        products = next((row.products for row in self.gpus if row.gpu.number == target.sm), ())
        return tuple(dict.fromkeys(self.board(product) for product in products)) or (None,)

    # hosts

    def runtime_of(self, glibcxx: GlibcxxVersion) -> RuntimeRow:
        """What the GCC release that offers this libstdc++ version offers besides; ``UnknownRuntime``."""
        place = bisect_right(self.runtimes, glibcxx, key=lambda row: row.glibcxx)
        if place == 0 or glibcxx > self.runtimes[-1].glibcxx:
            raise unknown.UnknownRuntime(f"GLIBCXX {glibcxx} is not in the policy tables of {self.date}")
        return self.runtimes[place - 1]

    def manylinux_of(self, glibc: GlibcVersion) -> RuntimeRow:
        """The newest manylinux policy whose hosts may have this glibc; ``UnknownRuntime`` below all."""
        fitting = [row for row in self.manylinux if row.glibc is not None and row.glibc <= glibc]
        if not fitting:
            raise unknown.UnknownRuntime(f"glibc {glibc} is older than the policy tables of {self.date}")
        return fitting[-1]

    # toolkits and containers

    def toolkit(self, version: ToolkitVersion) -> ToolkitRow:
        """The row of ``version``'s major.minor; ``UnknownToolkit``."""
        wanted = version.parts[:2]
        for row in self.toolkits:
            if row.version.parts[:2] == wanted:
                return row
        raise unknown.UnknownToolkit(f"CUDA toolkit {version} is not in the policy tables of {self.date}")

    def cubin_floor(self, major: int) -> DriverVersion:
        """Lowest driver for cubins of this toolkit major (minor version compatibility); ``UnknownToolkit``."""
        for row in self.toolkits:
            if row.version.major == major:
                return row.cubin_floor
        raise unknown.UnknownToolkit(f"CUDA {major} is not in the policy tables of {self.date}")

    def codec_of(self, toolkit: ToolkitVersion, mode: CompressionMode, kind: EntryKind) -> Codec:
        """What ``mode`` packs images of ``kind`` with; ``UnknownCompression`` when this toolkit has no such mode.

        Ordinary code is meant: relocatable and debug cubins are packed like PTX.
        """
        key = self.toolkit(toolkit).version
        for row in self.compression:
            matches = row.mode == mode.value and row.kind == _KIND_WORDS.get(kind)
            if matches and row.first_toolkit <= key <= row.last_toolkit:
                return row.codec
        raise unknown.UnknownCompression(
            f"toolkit {toolkit} has no --compress-mode={mode.value} for {kind.name} images"
        )

    def codec_floor(self, codec: Codec) -> DriverVersion | None:
        """Lowest driver that unpacks ``codec``, ``None`` when all listed ones do; ``UnknownCodec``."""
        if codec not in self.codec_floors:
            raise unknown.UnknownCodec(f"codec {codec.value} is not in the policy tables of {self.date}")
        return self.codec_floors[codec]

    def cubin_abi_floor(self, abi: int) -> DriverVersion | None:
        """Lowest driver that reads cubins of this ELF generation, ``None`` when all do; ``UnknownCubinAbi``."""
        if abi not in self.cubin_abi_floors:
            raise unknown.UnknownCubinAbi(f"cubin ABI {abi} is not in the policy tables of {self.date}")
        return self.cubin_abi_floors[abi]

    def kind_row(self, kind: int) -> KindRow:
        """What is known about a fatbin entry kind; ``UnknownEntryKind``."""
        for row in self.kinds:
            if row.kind == kind:
                return row
        raise unknown.UnknownEntryKind(f"fatbin entry kind {kind} is not in the policy tables of {self.date}")

    # libcuda, errors, forward compatibility

    def symbol_since(self, name: str) -> ToolkitVersion | None:
        """First CUDA version whose driver exports ``name``, ``None`` if no Linux driver does; ``UnknownSymbol``."""
        if name not in self.symbols:
            raise unknown.UnknownSymbol(f"{name} is not in the policy tables of {self.date}")
        return self.symbols[name]

    def error_named(self, name: str) -> CudaError:
        """The CUDA error with this driver or runtime API name; ``UnknownCudaError``."""
        for row in self.errors:
            if name and name in {row.driver_name, row.runtime_name}:
                return row
        raise unknown.UnknownCudaError(f"{name} is not in the policy tables of {self.date}")

    def forward_compatibility(self, package: ToolkitVersion, driver: DriverVersion) -> CompatStatus:
        """Whether NVIDIA lists the ``cuda-compat`` package of this CUDA version for this kernel driver."""
        columns = [
            row
            for row in self.compatibility
            if (row.package.major, row.package.minor) == (package.major, package.minor)
        ]
        fitting = [row for row in columns if row.branch == driver.branch]
        if fitting:
            return fitting[0].status
        not_needed = [row.branch for row in columns if row.status is CompatStatus.NOT_NEEDED]
        if not_needed and driver.branch > not_needed[0]:
            return CompatStatus.NOT_COMPATIBLE
        return CompatStatus.NOT_LISTED
