"""What a release lost against the one before it: facts of two artifacts in, findings out."""

from pipeline.diff.compare import compare
from pipeline.diff.difference import Difference

__all__ = ["Difference", "compare"]
