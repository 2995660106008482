"""Container images among the members of an archive or directory: which they are, and their file systems."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.errors import NothingExamined
from pipeline.formats import oci
from pipeline.formats.facts import OTHER_IMAGE, ImageFacts, Opaque
from pipeline.formats.oci import Descriptor, Index, Manifest
from pipeline.inventory.image_names import INDEX, LAYOUT, SAVED
from pipeline.inventory.rootfs import Rootfs, assemble
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pipeline.formats.oci import ImageConfig
    from pipeline.inventory.layer import Layer
    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.store import Store
    from pipeline.model.paths import MemberPath

    FindImages = Callable[[], Iterator["Image"]]

_NESTED = 4


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its configuration, the digest of that, and for each layer where it lies and what it must be."""

    digest: str
    config: ImageConfig
    blobs: tuple[Blob, ...]


@dataclass(frozen=True, slots=True)
class Blob:
    """Where a layer lies; ``descriptor`` is what a manifest says of it, where there is one."""

    member: str
    descriptor: Descriptor | None = None


def read_images(store: Store, path: MemberPath, ledger: Ledger) -> None:
    """Note the file systems of the images that are for the ledger's platform; the others are named."""
    images: dict[str, Image] = {}
    for image in Finder(store, path, ledger).images():
        images.setdefault(image.digest, image)
    chosen, others = _chosen(list(images.values()), ledger.platform)
    for image in others:
        ledger.opaque.append(
            Opaque(path.child(f"sha256:{image.digest}"), OTHER_IMAGE + printable(image.config.platform[:60]), 0)
        )
    if not chosen and not ledger.damages:
        raise _nothing_for(path, ledger)
    assemble([_rootfs(image, store, path, ledger) for image in chosen], path, ledger)
    for image in chosen:
        ledger.images.append(
            ImageFacts(path, image.config.environment, image.config.labels, tuple(dict.fromkeys(image.config.diff_ids)))
        )
        ledger.configs.append(image.digest)


def _nothing_for(path: MemberPath, ledger: Ledger) -> NothingExamined:
    there = ", ".join(dict.fromkeys(item.what for item in ledger.opaque if item.path.parts[:-1] == path.parts))
    return NothingExamined(
        f"{path} has no image for {ledger.platform}, only: {printable(there[:300]) or 'nothing'}",
        remedy="name an image for one platform",
    )


def _chosen(images: list[Image], platform: str) -> tuple[list[Image], list[Image]]:
    """Those for this platform, unless all are for the same one; then there is no choice."""
    if len({image.config.platform for image in images}) <= 1:
        return images, []
    fits = [image for image in images if fits_platform(image.config.platform, platform)]
    return fits, [image for image in images if image not in fits]


def fits_platform(offered: str, wanted: str) -> bool:
    """Whether ``linux/arm64/v8`` is meant by ``linux/arm64``: variants are not told apart."""
    return offered.split("/")[:2] == wanted.split("/")[:2]


def _rootfs(image: Image, store: Store, path: MemberPath, ledger: Ledger) -> Rootfs:
    """Read the layers, and note where they are not what the image's JSON says."""
    rootfs = Rootfs()
    read: list[tuple[str, Layer, Blob]] = []
    for digest, blob in zip(image.config.diff_ids, image.blobs, strict=True):
        layer = store.layer(blob.member, path.child(digest))
        if layer is None:
            ledger.damage(path.child(digest), _missing(blob))
            continue
        rootfs.layers.append((digest, layer))
        read.append((digest, layer, blob))
    for digest, layer, blob in read:  # after all were read: until then their digests are being taken
        for what in _differences(layer, digest, blob):
            ledger.damage(path.child(digest), what)
    return rootfs


def _missing(blob: Blob) -> str:
    if blob.descriptor is not None and blob.descriptor.is_foreign:
        return f"a foreign layer, whose content is not in the image but at {', '.join(blob.descriptor.urls)[:200]!r}"
    return f"a layer that is not in the image: {blob.member[:200]!r}"


def _differences(layer: Layer, digest: str, blob: Blob) -> Iterator[str]:
    if layer.blob is None or layer.diff is None:
        yield layer.flaw
        return
    stored, archive, promised = layer.blob.result(), layer.diff.result(), blob.descriptor
    if f"sha256:{archive}" != digest:
        yield f"a layer whose archive has the digest sha256:{archive}"
    if promised is not None and (f"sha256:{stored}", layer.size) != (promised.digest, promised.size):
        yield f"a blob of {layer.size} bytes with the digest sha256:{stored}, where {promised.digest} is promised"


@dataclass(slots=True)
class Finder:
    """Follows the JSON documents of an image archive from its root to configurations."""

    store: Store
    path: MemberPath
    ledger: Ledger
    _followed: set[str] = field(default_factory=set)

    def images(self) -> Iterator[Image]:
        """Every image that either kind of root names; what leads nowhere is noted as damage."""
        index, saved = self.store.document(INDEX), self.store.document(SAVED)
        if index is not None and self.store.document(LAYOUT) is not None:
            yield from self._guarded(INDEX, partial(self._from_manifest, index, None, 0))
        if saved is not None:
            yield from self._guarded(SAVED, partial(self._from_saved, saved))

    def _guarded(self, name: str, find: FindImages) -> Iterator[Image]:
        try:
            yield from find()
        except FormatError as error:
            self.ledger.damage(self.path.child(name), error.message)

    def _from_manifest(self, data: bytes, named_by: Descriptor | None, depth: int) -> Iterator[Image]:
        found = oci.parse_manifest(data)
        if isinstance(found, Manifest):
            if found.config.media_type in oci.CONFIGS:
                yield self._image(found, named_by)
            else:
                self._artifact(found.config, named_by)
            return
        if depth > _NESTED:
            raise FormatError(f"indexes nested more than {_NESTED} deep")
        for descriptor in self._worth_following(found):
            yield from self._guarded(descriptor.digest, partial(self._follow, descriptor, depth))

    def _follow(self, descriptor: Descriptor, depth: int) -> Iterator[Image]:
        yield from self._from_manifest(self._blob(descriptor), descriptor, depth + 1)

    def _worth_following(self, index: Index) -> Iterator[Descriptor]:
        """Images that may be for this platform; the others are named by what the index says of them."""
        said = {descriptor.platform for descriptor in index.manifests if not descriptor.is_attestation}
        for descriptor in index.manifests:
            if descriptor.digest in self._followed:
                continue
            self._followed.add(descriptor.digest)
            fits = not descriptor.platform or fits_platform(descriptor.platform, self.ledger.platform)
            if not descriptor.is_attestation and (fits or len(said) == 1):
                yield descriptor
            else:
                what = (
                    OTHER_IMAGE + printable(descriptor.platform[:60])
                    if not descriptor.is_attestation
                    else "attestation"
                )
                self.ledger.opaque.append(Opaque(self.path.child(descriptor.digest), what, descriptor.size))

    def _artifact(self, config: Descriptor, named_by: Descriptor | None) -> None:
        """Name what is no image: a signature, a chart, a list of parts."""
        named = config if named_by is None else named_by
        self.ledger.opaque.append(Opaque(self.path.child(named.digest), f"artifact, {config.media_type}", named.size))

    def _image(self, manifest: Manifest, named_by: Descriptor | None) -> Image:
        data = self._blob(manifest.config)
        blobs = [Blob(_member(descriptor.digest), descriptor) for descriptor in manifest.layers]
        return _image_of(data, blobs, named_by)

    def _from_saved(self, data: bytes) -> Iterator[Image]:
        for saved in oci.parse_saved(data):
            config = self.store.document(saved.config)
            if config is None:
                raise FormatError(f"a configuration that is not in the image: {saved.config[:200]!r}")
            image = _image_of(config, [Blob(member) for member in saved.layers], None)
            promised = saved.config.rpartition("/")[2].removeprefix("sha256:").removesuffix(".json")
            if len(promised) == len(image.digest) and promised != image.digest:
                raise FormatError(f"a configuration called {saved.config[:200]!r} with the digest {image.digest}")
            yield image

    def _blob(self, descriptor: Descriptor) -> bytes:
        """A document by its digest, which must be its own."""
        data = self.store.document(_member(descriptor.digest))
        if data is None:
            raise FormatError(f"a blob that is not in the image: {descriptor.digest}")
        found = hashlib.sha256(data).hexdigest()
        if (f"sha256:{found}", len(data)) != (descriptor.digest, descriptor.size):
            raise FormatError(f"a blob of {len(data)} bytes with the digest sha256:{found}, not {descriptor.digest}")
        return data


def _image_of(config: bytes, blobs: Iterable[Blob], named_by: Descriptor | None) -> Image:
    found = oci.parse_config(config)
    blobs = tuple(blobs)
    if len(blobs) != len(found.diff_ids):
        raise FormatError(f"an image of {len(blobs)} layers whose configuration lists {len(found.diff_ids)}")
    if named_by is not None and named_by.platform and not fits_platform(found.platform, named_by.platform):
        raise FormatError(f"an image for {found.platform} that its index calls {named_by.platform}")
    return Image(hashlib.sha256(config).hexdigest(), found, blobs)


def _member(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"
