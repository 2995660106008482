"""What there is to compile for a lane: every file of every source, for every promised SM, by every compiler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.jit.compilation import Compilation, Refusal, refused
from pipeline.jit.cuda import CudaTask
from pipeline.jit.ptx import PtxTask
from pipeline.jit.triton import TritonTask
from pipeline.model.arch import ArchSuffix
from pipeline.model.jit import JitLanguage
from pipeline.policy.unknown import UnknownAssembler
from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pipeline.jit.toolbox import Assembling, Toolbox
    from pipeline.model.jit import JitSource
    from pipeline.model.target import Target
    from pipeline.model.versions import ToolkitVersion

Task = CudaTask | TritonTask | PtxTask
TOOLKIT = "toolkit-arch"


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans with ``tools``; files that lie in the bundle begin in ``bundle``."""

    tools: Toolbox
    targets: Sequence[Target]
    bundle: Path | None

    def plan(self, sources: Sequence[JitSource]) -> Iterator[Task | Compilation]:
        """Tasks, and compilations that are over before they begin.

        ``UsageError`` for files that the bundle does not have; whatever fetching a compiler raises.
        """
        for source in sources:
            root = self._root(source)
            for file in _files(source, root):
                for sm in sorted({target.sm for target in self.targets if source.serves(target.sm)}):
                    yield from self._of(source, root, file, sm)

    def _root(self, source: JitSource) -> Path:
        root = source.folder or self.bundle
        if root is None:
            raise UsageError(f"the files of {source.name} lie in the bundle", remedy="name the bundle")
        return root.resolve()

    def _of(self, source: JitSource, root: Path, file: str, sm: int) -> Iterator[Task | Compilation]:
        suffix = source.arch_suffix if source.arch_suffix in self.tools.policy.gpu_row(sm).suffixes else ""
        attempt = Compilation(
            source=source, file=file, sm=sm, arch=f"{sm}{suffix}", compiler="", ending=Ending.NOT_READ
        )
        match source.language:
            case JitLanguage.CUDA:
                yield from (self._cuda(attempt, root, toolkit) for toolkit in source.toolkits)
            case JitLanguage.TRITON:
                yield from self._triton(attempt, root)
            case JitLanguage.PTX:
                yield from self._ptx(attempt, root)

    def _cuda(self, attempt: Compilation, root: Path, toolkit: ToolkitVersion) -> Task | Compilation:
        known = [arch.name for arch in self.tools.policy.toolkit(toolkit).archs]
        library, name = self.tools.nvrtc(toolkit)
        if attempt.arch not in known:
            return _unknown(replace(attempt, compiler=name, toolkit=toolkit), toolkit, known)
        assembler = self.tools.assembler(toolkit, attempt.arch)
        plain = [arch for arch in known if arch.isdigit() and int(arch) > attempt.sm]
        return CudaTask(
            attempt=replace(
                attempt, compiler=f"{name}, {assembler.name}", dynamic_shared=attempt.source.dynamic_shared
            ),
            root=root,
            library=library,
            headers=self.tools.headers(attempt.source, toolkit),
            assembler=assembler,
            later=tuple(plain),
            tables=self.tools.policy.jit,
        )

    def _triton(self, attempt: Compilation, root: Path) -> Iterator[Task | Compilation]:
        wheel = attempt.source.triton
        if wheel is None:
            raise TypeError(f"{attempt.source.name}: a Triton source without Triton")
        folder = self.tools.triton(wheel)
        own = self.tools.triton_assembler(wheel, attempt.sm)
        for assembler in self._assemblers(attempt) if attempt.source.toolkits else (own,):
            if isinstance(assembler, Compilation):
                yield assembler
                continue
            yield TritonTask(
                attempt=replace(attempt, compiler=f"Triton {wheel.version}, {assembler.name}"),
                root=root,
                triton=folder,
                assembler=assembler,
                tables=self.tools.policy.jit,
            )

    def _ptx(self, attempt: Compilation, root: Path) -> Iterator[Task | Compilation]:
        asked = replace(attempt, dynamic_shared=attempt.source.dynamic_shared)
        if attempt.source.toolkits:
            for assembler in self._assemblers(asked):
                yield assembler if isinstance(assembler, Compilation) else self._ptx_task(asked, root, assembler, ())
            return
        labels: dict[Assembling, list[str]] = {}
        for target in self.targets:
            if target.sm != attempt.sm:
                continue
            try:
                found = self.tools.assembler_of_driver(target.driver, attempt.arch)
            except UnknownAssembler as error:
                yield replace(asked, ending=Ending.NO_ASSEMBLER, reason=error.message, only_for=(target.label,))
            else:
                labels.setdefault(found, []).append(target.label)
        yield from (self._ptx_task(asked, root, found, tuple(names)) for found, names in labels.items())

    def _ptx_task(self, attempt: Compilation, root: Path, assembler: Assembling, labels: tuple[str, ...]) -> Task:
        named = replace(attempt, compiler=assembler.name, only_for=labels)
        return PtxTask(attempt=named, root=root, assembler=assembler, tables=self.tools.policy.jit)

    def _assemblers(self, attempt: Compilation) -> Iterator[Assembling | Compilation]:
        """The declared toolkits' own; where one does not know the architecture, what to say about it."""
        for toolkit in attempt.source.toolkits:
            known = [arch.name for arch in self.tools.policy.toolkit(toolkit).archs]
            if attempt.arch in known:
                yield self.tools.assembler(toolkit, attempt.arch)
            else:
                named = replace(attempt, compiler=f"ptxas of CUDA {toolkit}", toolkit=toolkit)
                yield _unknown(named, toolkit, known)


def _unknown(attempt: Compilation, toolkit: ToolkitVersion, known: Sequence[str]) -> Compilation:
    numbers = sorted({int(arch.rstrip("af")) for arch in known})
    suffix = ArchSuffix(attempt.arch.lstrip("0123456789"))
    what = (
        f"CUDA {toolkit} has no sm_{attempt.arch}" if suffix else f"CUDA {toolkit} compiles for sm_{numbers[0]} and up"
    )
    if attempt.sm > numbers[-1]:
        what = f"CUDA {toolkit} compiles for nothing later than sm_{numbers[-1]}"
    return refused(attempt, Refusal(rule=TOOLKIT, text=what, place=attempt.file))


def _files(source: JitSource, root: Path) -> tuple[str, ...]:
    if source.folder is not None:
        return source.files
    names: list[str] = []
    for pattern in source.files:
        found = sorted(path for path in root.glob(pattern) if path.is_file())
        if not found:
            raise UsageError(f"the bundle has no {pattern}", remedy=f"correct the files of {source.name}")
        names += [str(path.relative_to(root)) for path in found]
    return tuple(dict.fromkeys(names))
