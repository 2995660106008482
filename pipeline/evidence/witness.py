"""Who signed a record, and the error of a signature that does not fit."""

from __future__ import annotations

from dataclasses import dataclass


class WrongSignature(Exception):
    """A signature that these bytes do not fit: by a key that is trusted, or in a bundle that does not verify."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Somebody whose signature fits, by name; ``trusted`` where matrix.yaml names them."""

    name: str
    trusted: bool
