"""An OCI registry: each bundle as an artifact and as a runtime image, by digest, read back, and only then tagged.

Nothing is built: the artifact's layer is the approved file, and so is the image's wherever the file is a layer already.
Everything that a later attempt needs to know is in the registry. A version's tags never change what they name; the tags
that move do so after every image was read back, so that whenever it is killed, each tag names bytes that were.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, Refused, UsageError
from pipeline.publishers.oci import MANIFEST, Blob
from pipeline.publishers.oci_base import read_base, scratch
from pipeline.publishers.oci_release import our_lane, packed_release
from pipeline.publishers.oci_tags import moving_tags, version_tags
from pipeline.publishers.registry_api import Refusal, refused
from pipeline.publishers.staging import check_names, copied

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.gate import Approved
    from pipeline.model.lane import ImageTerms, Lane
    from pipeline.model.target import Platform
    from pipeline.policy import Policy
    from pipeline.publishers.oci import Base, Layer, Packed
    from pipeline.publishers.oci_release import Release
    from pipeline.publishers.registry_api import Repository


@dataclass(frozen=True, slots=True)
class RegistryImages:
    """Publishes to one repository. ``lanes`` are all of matrix.yaml's; ``base`` is where the base image lies."""

    target: Repository
    base: Repository | None
    terms: ImageTerms
    lanes: tuple[Lane, ...]
    policy: Policy

    @property
    def staging(self) -> Path:
        """Where bundles are copied and unpacked before anybody sees them."""
        return Path(tempfile.gettempdir())

    def preflight(self) -> None:
        """``UsageError`` when nobody may push so, the base is not there, or a version's tag is somebody else's.

        ``InfrastructureError`` when a registry cannot be asked.
        """
        moving_tags(self.terms, self.lanes)
        with _answers():
            self.target.check_writable()
            with self._bases({lane.platform for lane in self.lanes}):
                pass
            for lane in self.lanes:
                for tag in version_tags(lane):
                    there = self.target.manifest(tag)
                    if there is not None and our_lane(there) != lane.id:
                        raise UsageError(
                            f"{self.target.place}:{tag} is something that cubingate did not push",
                            remedy="remove it, or publish another version",
                        )

    def publish(self, approved: Sequence[Approved]) -> str:
        """Push these bundles, read everything back, move the tags; return each version's name with its digest, by line.

        ``Refused`` when there is none, ``UsageError`` when a version is there with other bytes, ``CorruptInput`` for a
        bundle that cannot be a layer, ``InfrastructureError`` when the registry fails or does not read back what was
        sent; no tag has moved then to anything that was not read back.
        """
        with self._prepared(approved) as (releases, folder):
            moving = moving_tags(self.terms, self.lanes)
            fixed = {tag: packed for release in releases for tag, packed in release.versions.items()}
            free = self._free(fixed)
            push = Push(self.target, self.base, folder)
            for packed in fixed.values():
                push.packed(packed)
            for tag in free:
                self._move(tag, fixed[tag], final=True)
            for release in releases:
                for tag in moving.get(release.lane, ()):
                    self._move(tag, release.image)
        return "\n".join(f"{self.target.place}:{tag}@{packed.manifest.digest}" for tag, packed in fixed.items())

    def compare(self, approved: Sequence[Approved]) -> None:
        """Raise what ``publish`` would before it sends anything; changes nothing."""
        with self._prepared(approved) as (releases, _):
            self._free({tag: packed for release in releases for tag, packed in release.versions.items()})

    @contextmanager
    def _prepared(self, approved: Sequence[Approved]) -> Iterator[tuple[tuple[Release, ...], Path]]:
        """Everything that is pushed, made; and a folder that lasts as long."""
        check_names([item.artifact.path.name for item in approved])
        if not approved:
            raise Refused("no lane is approved: there is nothing to release")
        platforms = {item.verdict.lane.platform for item in approved}
        with tempfile.TemporaryDirectory(prefix="cubingate-") as folder, _answers(), self._bases(platforms) as bases:
            yield self._packed(approved, bases, Path(folder)), Path(folder)

    def _free(self, fixed: Mapping[str, Packed]) -> list[str]:
        """The versions' tags that are not there yet; ``UsageError`` for one that names anything else."""
        return [tag for tag, packed in fixed.items() if not self._names(tag, packed, final=True)]

    def _packed(
        self, approved: Sequence[Approved], bases: Mapping[Platform, Base], folder: Path
    ) -> tuple[Release, ...]:
        files = copied(_made(folder / "bundles"), approved)
        return tuple(
            packed_release(
                item,
                file.path,
                bases[item.verdict.lane.platform],
                self.terms,
                policy=self.policy,
                scratch=folder / f"lane-{number}",
            )
            for number, (item, file) in enumerate(zip(approved, files, strict=True))
        )

    @contextmanager
    def _bases(self, platforms: set[Platform]) -> Iterator[dict[Platform, Base]]:
        image, repository = self.terms.base, self.base
        if image is None or repository is None:
            yield {platform: scratch(platform) for platform in platforms}
            return
        with tempfile.TemporaryDirectory(prefix="cubingate-") as folder:
            yield {platform: read_base(repository, image, platform, Path(folder)) for platform in sorted(platforms)}

    def _names(self, tag: str, packed: Packed, *, final: bool) -> bool:
        """Whether a tag is there and names this; ``UsageError`` for a ``final`` one that names anything else."""
        there = self.target.manifest(tag)
        if there is not None and there != packed.manifest.content and final:
            raise UsageError(
                f"{self.target.place}:{tag} is there with other bytes, and a version is never changed",
                remedy="publish another version",
            )
        return there == packed.manifest.content

    def _move(self, tag: str, packed: Packed, *, final: bool = False) -> None:
        if self._names(tag, packed, final=final):
            return
        self.target.put_manifest(tag, _bytes(packed.manifest), MANIFEST)
        if not self._names(tag, packed, final=False):
            raise InfrastructureError(f"{self.target.place}:{tag} does not read back as it was moved")


@dataclass(slots=True)
class Push:
    """What one publication sends to ``target``, and what of it was read back already."""

    target: Repository
    base: Repository | None
    folder: Path
    seen: set[str] = field(default_factory=set)

    def packed(self, packed: Packed) -> None:
        """Push by digest what is not there, and read all of it back."""
        for layer in packed.others:
            if layer.digest not in self.seen:
                self._bring(layer)
                self._read_back(layer)
        for blob in packed.blobs:
            if blob.digest not in self.seen:
                self.target.send(blob)
                self._read_back(blob)
        manifest = packed.manifest
        if self.target.manifest(manifest.digest) is None:
            self.target.put_manifest(manifest.digest, _bytes(manifest), MANIFEST)
            if self.target.manifest(manifest.digest) is None:
                raise InfrastructureError(f"the registry has not kept manifest {manifest.digest}")

    def _bring(self, layer: Layer) -> None:
        """A layer of the base, from the repository where it lies."""
        source = self.base
        if source is None or self.target.has(layer.digest):
            return
        if source.place.host == self.target.place.host and self.target.mount(layer.digest, source.place.name):
            return
        path = self.folder / "layer-of-the-base"
        source.download(layer.digest, layer.size, path)
        self.target.send(Blob(layer.media_type, layer.digest, layer.size, path))
        path.unlink()

    def _read_back(self, sent: Blob | Layer) -> None:
        if self.target.digest_of(sent.digest, sent.size) != sent.digest:
            raise InfrastructureError(f"the registry does not hand out what was sent as {sent.digest}")
        self.seen.add(sent.digest)


@contextmanager
def _answers() -> Iterator[None]:
    """What a registry's no and a disk's mean for whoever publishes."""
    try:
        yield
    except Refusal as refusal:
        raise refused(refusal) from refusal
    except OSError as error:
        raise InfrastructureError.of(error) from error


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _bytes(manifest: Blob) -> bytes:
    with manifest.opened() as content:
        return content.read()
