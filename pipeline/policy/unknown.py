"""Questions that the tables do not answer; a caller turns them into the verdict ``unknown``, never into a pass."""

from __future__ import annotations

from pipeline.errors import CubingateError, ExitStatus


class OutsidePolicy(CubingateError):
    """The policy tables do not say."""

    status = ExitStatus.REFUSED


class UnknownDriver(OutsidePolicy):
    """A driver branch newer or older than the tables."""


class UnknownGpu(OutsidePolicy):
    """An SM number that the tables do not list."""


class UnknownArch(OutsidePolicy):
    """An architecture name (with its suffix) that no listed toolkit emits."""


class UnknownToolkit(OutsidePolicy):
    """A toolkit version that the tables do not list."""


class UnknownAssembler(OutsidePolicy):
    """No assembler of the tables knows this architecture and runs on this machine."""


class UnknownCompiler(OutsidePolicy):
    """No wheel of the tables has this part of a toolkit for this machine."""


class UnknownCodec(OutsidePolicy):
    """A payload codec whose driver floor is not known."""


class UnknownCubinAbi(OutsidePolicy):
    """An ELF generation of cubins that the tables do not list."""


class UnknownCompression(OutsidePolicy):
    """A compression mode that this toolkit does not have, or an image kind that no mode packs."""


class UnknownEntryKind(OutsidePolicy):
    """A fatbin entry kind that the tables do not list."""


class UnknownSymbol(OutsidePolicy):
    """A libcuda symbol whose first driver is not known."""


class UnknownCudaError(OutsidePolicy):
    """A CUDA error that the tables do not list."""


class UnknownRuntime(OutsidePolicy):
    """A version of the C or C++ runtime library that the tables do not list."""


class InconsistentTables(OutsidePolicy):
    """The policy tables contradict themselves: a defect of this package or of an edited table."""

    status = ExitStatus.INFRASTRUCTURE
