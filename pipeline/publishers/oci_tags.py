"""Which tags of a repository are a version's, for ever, and which move to the images of a new one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.model.lane import ImageTerms, Lane

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
"""Source: OCI distribution-spec 1.1, "Pulling manifests"."""
_LANE = "{lane}"


def version_tags(lane: Lane) -> tuple[str, str]:
    """The tags of a lane's image and of its artifact, which name the same bytes for ever; ``UsageError``."""
    image = _checked(f"{lane.bundle.version}-{lane.id}")
    return image, _checked(f"{image}.bundle")


def moving_tags(terms: ImageTerms, lanes: Sequence[Lane]) -> dict[str, tuple[str, ...]]:
    """Lane id → the tags that move to its image.

    ``UsageError`` for a tag that two lanes, or none, or a version would have. Taken over all lanes of matrix.yaml, so
    that what is published of them moves no tag to another lane than all of them would.
    """
    lead = _lead(terms, lanes)
    taken: dict[str, str] = {}
    for lane in lanes:
        for tag in version_tags(lane):
            _take(tag, lane, taken)
    found: dict[str, tuple[str, ...]] = {}
    for lane in lanes:
        tags = [_filled(tag, lane) for tag in terms.tags if _LANE in tag or lane.id == lead]
        for tag in tags:
            _take(tag, lane, taken)
            if tag in version_tags(lane):
                raise _twice(tag, lane, lane.id)
        found[lane.id] = tuple(dict.fromkeys(tags))
    return found


def _take(tag: str, lane: Lane, taken: dict[str, str]) -> None:
    if taken.setdefault(tag, lane.id) != lane.id:
        raise _twice(tag, lane, taken[tag])


def _twice(tag: str, lane: Lane, other: str) -> UsageError:
    return UsageError(f"the tag {tag} of {lane.id} is that of {other} already", remedy="change tags:, or a lane's id:")


def _lead(terms: ImageTerms, lanes: Sequence[Lane]) -> str | None:
    shared = [tag for tag in terms.tags if _LANE not in tag]
    ids = [lane.id for lane in lanes]
    if terms.lead is not None and terms.lead not in ids:
        raise UsageError(f"lead: {terms.lead} is no lane", remedy=f"write one of {', '.join(ids)}")
    if shared and terms.lead is None and len(ids) > 1:
        raise UsageError(f"whose is the tag {shared[0]}?", remedy="name the lane in lead:, or write {lane} in the tag")
    return terms.lead or (ids[0] if len(ids) == 1 else None)


def _filled(tag: str, lane: Lane) -> str:
    return _checked(tag.replace(_LANE, lane.id).replace("{version}", lane.bundle.version))


def _checked(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise UsageError(f"{tag} cannot be a tag", remedy="at most 128 letters, digits, dots, dashes and underscores")
    return tag
