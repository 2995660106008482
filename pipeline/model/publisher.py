"""Where matrix.yaml says that approved bundles go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.model.base_image import BaseImage


@dataclass(frozen=True, slots=True)
class ImageTerms:
    """What a registry's runtime images are made of, and the tags that move to them.

    ``base`` is pinned by digest, ``None`` an image of the bundle alone. ``{lane}`` and ``{version}`` in ``tags`` are
    filled in; a tag without ``{lane}`` is the lane ``lead``'s. ``insecure`` allows http to a host that is not loopback.
    """

    base: BaseImage | None = None
    tags: tuple[str, ...] = ()
    lead: str | None = None
    licenses: str | None = None
    source: str | None = None
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Publisher:
    """A destination by name. ``partial`` allows approved lanes to be published while others are refused.

    ``location`` is a directory, a repository (``owner/name``) with the ``tag`` of its release, the upload address of a
    Python index with that of its ``simple`` API, or a registry's repository (``host/path``) with the ``image`` there.
    ``insecure`` allows http to an index that is not loopback.
    """

    name: str
    kind: str
    location: str
    partial: bool
    tag: str | None = None
    simple: str | None = None
    image: ImageTerms | None = None
    insecure: bool = False
