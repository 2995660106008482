"""How many bytes a release will have, as far as anybody knows before it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.model.lane import Lane


def expected_bytes(lanes: Sequence[Lane], state: Path) -> int:
    """What the bundles of ``lanes`` take: what was built for a lane, else the most that it promises to take, else 0.

    ``InfrastructureError`` when the state cannot be read.
    """
    return sum(_built_bytes(state / "lanes" / lane.id) or lane.size_budget or 0 for lane in lanes)


def _built_bytes(folder: Path) -> int:
    """The largest file there: beside the bundle lies what tells of it."""
    try:
        return max((path.stat().st_size for path in folder.iterdir() if path.is_file()), default=0)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise InfrastructureError(f"cannot look into {folder}: {error.strerror}") from error
