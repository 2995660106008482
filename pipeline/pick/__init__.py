"""Which published asset fits a machine, and why the others do not (docs/pick.md)."""

from pipeline.pick.asset import Asset, Basis, PromisedTarget, Release, Seen
from pipeline.pick.choose import Choice, choose
from pipeline.pick.fit import Fit, GpuFit, Need, Obstacle
from pipeline.pick.host import Host, HostGpu

__all__ = [
    "Asset",
    "Basis",
    "Choice",
    "Fit",
    "GpuFit",
    "Host",
    "HostGpu",
    "Need",
    "Obstacle",
    "PromisedTarget",
    "Release",
    "Seen",
    "choose",
]
