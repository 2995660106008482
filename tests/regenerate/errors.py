"""The names and texts of CUDA errors, as the runtime library gives them without a driver."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from tests.regenerate.compare import NOTHING, Cell
from tests.toolchain import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy.tables import Row

CUDART = "nvidia-cuda-runtime==13.5.37"
_HIGHEST = 1200
_UNKNOWN = "unrecognized error code"


def runtime_errors() -> dict[int, tuple[str, str]]:
    """Number → name and text, all that libcudart knows."""
    library = ctypes.CDLL(str(next(unpacked(CUDART).glob("**/libcudart.so*"))))
    library.cudaGetErrorName.restype = library.cudaGetErrorString.restype = ctypes.c_char_p
    answers = {
        code: (library.cudaGetErrorName(code).decode(), library.cudaGetErrorString(code).decode())
        for code in range(_HIGHEST)
    }
    return {code: answer for code, answer in answers.items() if answer[0] != _UNKNOWN}


def error_cells(known: dict[int, tuple[str, str]], rows: list[Row]) -> Iterator[Cell]:
    """Two cells for each error of the runtime API. Errors of the driver API alone are not its to tell."""
    places = {int(row["code"]): place for place, row in enumerate(rows)}
    claimed = {code for code, place in places.items() if rows[place]["runtime_name"]}
    for code in sorted(claimed | known.keys()):
        place = places.get(code)
        for column, answer in zip(("runtime_name", "message"), known.get(code, (NOTHING, NOTHING)), strict=True):
            yield Cell(
                table="errors",
                row=place,
                key=str(code),
                column=column,
                stated=rows[place][column] if place is not None else NOTHING,
                measured=answer,
                tool=f"libcudart {CUDART.partition('==')[2]}",
                source="m-cudart",
            )
