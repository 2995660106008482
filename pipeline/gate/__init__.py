"""Evidence and waivers in, verdict out; the only maker of ``Approved``."""

from pipeline.gate.judging import judge, refuse
from pipeline.gate.standing import CheckStanding, Standing, TargetStanding
from pipeline.gate.terms import Terms
from pipeline.gate.verdict import Approved, LaneVerdict, approve, status_of

__all__ = [
    "Approved",
    "CheckStanding",
    "LaneVerdict",
    "Standing",
    "TargetStanding",
    "Terms",
    "approve",
    "judge",
    "refuse",
    "status_of",
]
