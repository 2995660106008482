"""Evidence and waivers in, verdict out; the only maker of ``Approved``."""

from pipeline.gate.judge import judge, refuse
from pipeline.gate.standing import CheckStanding, Standing, TargetStanding
from pipeline.gate.verdict import Approved, LaneVerdict, approve, status_of

__all__ = [
    "Approved",
    "CheckStanding",
    "LaneVerdict",
    "Standing",
    "TargetStanding",
    "approve",
    "judge",
    "refuse",
    "status_of",
]
