"""``show`` for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.document import document
from pipeline.report.kernels_json import groups_content

if TYPE_CHECKING:
    from pipeline.audit.shown import Shown


def show_json(shown: Shown) -> str:
    """The document: branches, then for each GPU generation its cells in that order."""
    return document(
        "show",
        {
            "branches": [
                {"branch": branch.number, "driver": str(branch.first_driver), "cuda": str(branch.cuda)}
                for branch in shown.branches
            ],
            "gpus": [
                {
                    "sm": str(gpu.row.gpu.number),
                    "name": gpu.row.name,
                    "cells": [cell.value for cell in gpu.cells],
                    "minimum_driver": gpu.floor.driver or None,
                    "minimum_driver_reason": gpu.floor.reason,
                    "blocked_by": gpu.blocked_by or None,
                    "containers": {"total": gpu.judged, "loading": gpu.loading},
                }
                for gpu in shown.gpus
            ],
            "libraries": [
                {"path": library.path, "cells": [cell.value for cell in library.cells]} for library in shown.libraries
            ],
            "host": {family: str(version) for family, version in shown.host},
            "images": [{"what": what, "count": count} for what, count in shown.archs],
            **({"kernels": groups_content(shown.kernels)} if shown.kernels is not None else {}),
        },
    )
