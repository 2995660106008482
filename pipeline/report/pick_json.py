"""The choice for programs (docs/pick.schema.json)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.model.document import document

if TYPE_CHECKING:
    from pipeline.pick import Choice, Fit


def pick_json(choice: Choice) -> str:
    """The whole document: ``pick`` and ``nearest`` name assets, which follow with the reasons."""
    return document(
        "pick",
        {
            "source": choice.release.source,
            "machine": choice.host.to_json(),
            "pick": choice.picked.asset.file if choice.picked else None,
            "nearest": choice.nearest.asset.file if choice.nearest else None,
            "assets": [_asset(each) for each in choice.fits],
        },
    )


def _asset(each: Fit) -> dict[str, Any]:
    return {
        "file": each.asset.file,
        "sha256": each.asset.sha256,
        "size": each.asset.size,
        "lane": each.asset.lane or None,
        "flavour": each.asset.flavour.value,
        "fits": each.fits,
        "gpus": [gpu.to_json() for gpu in each.gpus],
        "obstacles": [obstacle.to_json() for obstacle in each.obstacles],
    }
