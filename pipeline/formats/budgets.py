"""The limits that keep hostile input bounded in time and memory."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Budgets:
    """Sizes in bytes. Exceeding one is reported as damage of the member that did, never passed over in silence.

    ``buffered`` is the largest streamed member held in memory whole; ``kept`` what one pass over a larger one
    may keep. ``expansion`` bounds decompressed against compressed bytes once ``expansion_free`` bytes are out.
    ``entries`` and ``containers`` are per container and per section, ``all_entries`` per artifact, attempts
    counted; ``kernels`` and ``kernel_names`` (bytes) are per artifact. ``examined`` is the size up to which an image is
    looked into even when the run is not deep. ``perused`` are the unpacked bytes of PTX, and of cubins up to
    ``perused_cubin``, that such a run reads in one file, and only in files that are not larger than ``buffered``.
    """

    nesting: int = 8
    members: int = 300_000
    damage: int = 1_000
    buffered: int = 32 * MIB
    kept: int = 96 * MIB
    decompressed: int = 256 * GIB
    expansion: int = 200
    expansion_free: int = 256 * MIB
    sections: int = 200_000
    containers: int = 200_000
    entries: int = 4_096
    all_entries: int = 1_000_000
    flaws: int = 100
    symbols: int = 8_000_000
    kernels: int = 4_000_000
    kernel_names: int = 128 * MIB
    version_needs: int = 65_536
    name: int = 64 * KIB
    examined: int = 4 * KIB
    perused: int = 4 * MIB
    perused_cubin: int = 16 * KIB
    payload: int = 256 * MIB


STANDARD = Budgets()
