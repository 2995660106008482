"""Containers and single images taken out of large artifacts, some of each kind, to travel alone to a GPU."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.binary import BufferView
from pipeline.formats.budgets import STANDARD
from pipeline.formats.device import Flaw, read_run
from pipeline.formats.facts import EntryKind
from pipeline.formats.fatbin import ContainerReader, EntryNames
from pipeline.formats.payload import Glance, unpack
from pipeline.gpu.answer import SUCCESS
from pipeline.gpu.containers import Pieces, pour
from pipeline.gpu.forecast import Forecaster
from pipeline.inventory import take_inventory
from pipeline.rules.choice import JitPass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.formats.facts import EntryFacts
    from pipeline.gpu.forecast import Forecast
    from pipeline.model.lane import Target
    from pipeline.model.paths import MemberPath
    from pipeline.policy import Policy


@dataclass(frozen=True, slots=True)
class Wish:
    """How many of a kind, of how many bytes; containers are of a kind when the same is foreseen of them.

    ``failing`` is how many are taken of which it is foreseen that they do not load: each costs a process of its own.
    ``images`` single images of each architecture are taken besides, as cuobjdump would.
    """

    of_a_kind: int
    failing: int
    bytes_of_a_kind: int
    largest: int
    images: int

    def most(self, forecast: Forecast) -> int:
        return self.of_a_kind if forecast.of(JitPass.AS_IS) == SUCCESS else self.failing


def extract(artifacts: Iterable[Path], out: Path, target: Target, policy: Policy, wish: Wish) -> Iterator[str]:
    """Write them as ``out`` (tar.xz), each under its artifact's name and its own digest; a line for each artifact."""
    with tarfile.open(out, "w:xz", preset=6) as archive:
        for artifact in artifacts:
            chosen = list(containers(artifact, target, policy, wish))
            single = list(images([content for _, content in chosen], wish))
            for folder, found in ((artifact.name, chosen), (f"{artifact.name}-images", single)):
                for number, (name, content) in enumerate(found):
                    digest = hashlib.sha256(content).hexdigest()[:12]
                    _add(archive, f"{folder}/{number:05}-{digest}-{name}", content)
            yield f"{artifact.name}: {len(chosen)} containers, {len(single)} images"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def containers(artifact: Path, target: Target, policy: Policy, wish: Wish) -> Iterator[tuple[str, bytes]]:
    """Some of each kind, the smallest, each different one once."""
    inventory = take_inventory(artifact)
    kinds: dict[tuple[object, ...], list[tuple[int, MemberPath]]] = defaultdict(list)
    most: dict[tuple[object, ...], int] = {}
    for item in Forecaster.of(inventory, target, policy, None).containers(inventory):
        if item.forecast is not None and item.size <= wish.largest:
            kind = (item.role, *(item.forecast.of(jit) for jit in JitPass))
            kinds[kind].append((item.size, item.path))
            most[kind] = wish.most(item.forecast)
    wanted = {path: kind for kind, paths in kinds.items() for _, path in sorted(paths)[: 4 * most[kind]]}
    loadable = [item for item in inventory.fatbins if item.path in wanted]
    found: dict[tuple[object, ...], list[tuple[str, bytes]]] = defaultdict(list)
    seen: set[bytes] = set()

    def give(place: MemberPath, image: bytes) -> None:
        digest, here = hashlib.sha256(image).digest(), found[wanted[place]]
        fits = len(here) < most[wanted[place]] and sum(len(one) for _, one in here) + len(image) <= wish.bytes_of_a_kind
        if fits and digest not in seen:
            seen.add(digest)
            here.append(("-".join(place.parts[1:]).replace("/", "_")[-100:], image))

    bare = [item for item in inventory.bare if item.path in wanted]
    if loadable or bare:
        pour(artifact, Pieces.of(loadable, bare), give)
    for some in found.values():
        yield from some


def images(found: Iterable[bytes], wish: Wish) -> Iterator[tuple[str, bytes]]:
    """Cubins and PTX out of containers, decompressed: as many of each architecture, PTX version and codec as wished."""
    left: dict[tuple[object, ...], int] = defaultdict(lambda: wish.images)
    seen: set[bytes] = set()
    for content in found:
        view = BufferView(content)
        for entry in _entries(content):
            kind = (entry.kind, entry.arch, entry.ptx, entry.codec)
            if not left[kind] or entry.kind not in {EntryKind.CUBIN, EntryKind.PTX}:
                continue
            image = unpack(view, entry, STANDARD).rstrip(b"\0" if entry.kind is EntryKind.PTX else b"")
            if len(image) <= wish.largest and image not in seen:
                seen.add(image)
                left[kind] -= 1
                yield f"{entry.arch}.{'ptx' if entry.kind is EntryKind.PTX else 'cubin'}", image


def _entries(content: bytes) -> Iterator[EntryFacts]:
    reader = ContainerReader(EntryNames(STANDARD.all_entries), Glance(STANDARD), STANDARD)
    for item in read_run(BufferView(content), "", (0, len(content)), reader):
        if not isinstance(item, Flaw):
            yield from item.entries
