"""``cubingate doctor``: what this machine can do, what it lacks for the rest, and what this repository lacks."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.errors import EngineUnavailable, ExitStatus, InfrastructureError
from pipeline.scaffold.look import Look

if TYPE_CHECKING:
    import argparse

_GIB = 1 << 30


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_state(parser)
    options.add_format(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Look and tell; 0 whatever is missing, since looking was what was asked."""
    from pipeline.machine import this_machine
    from pipeline.model.document import document
    from pipeline.policy import load_policy
    from pipeline.scaffold.missing import looks

    machine = this_machine(engine="none")
    findings = [*_engine(), _debootstrap(), *_gpus(), *_toolkits(), _disk("state", arguments.state.resolve())]
    findings += looks(arguments.matrix, load_policy())
    if arguments.format == "json":
        content = {"machine": machine.to_json(), "findings": [finding.to_json() for finding in findings]}
        options.emit(arguments, document("doctor", content))
        return ExitStatus.PASS
    head = f"{machine.platform}, kernel {machine.kernel}, glibc {machine.glibc or 'none'}, {os.cpu_count()} processors"
    options.emit(arguments, "\n".join([head, *(line for finding in findings for line in _lines(finding))]))
    return ExitStatus.PASS


def _lines(look: Look) -> list[str]:
    advice = [f"  {'':<14}{look.advice}"] if look.advice else []
    return [f"{'+' if look.present else '-'} {look.name:<14}{look.seen}", *advice]


def _engine() -> list[Look]:
    from pipeline.engine.docker import DockerEngine

    try:
        with DockerEngine.connect(timeout=10) as engine:
            facts = engine.facts()
    except EngineUnavailable as error:
        return [Look("engine", False, error.message, f"source lanes cannot be built: {error.remedy}")]
    except InfrastructureError as error:
        return [Look("engine", False, error.message)]
    seen = f"Docker {facts.version} (API {facts.api}, {facts.storage}, {facts.platform})"
    return [Look("engine", True, seen), _disk("images", facts.root)]


def _debootstrap() -> Look:
    tool = shutil.which("debootstrap")
    if tool is None:
        return Look("debootstrap", False, "not installed", "needed only where base images cannot be pulled")
    if os.geteuid() != 0:
        return Look("debootstrap", False, f"{tool}, but it needs root")
    return Look("debootstrap", True, tool)


def _gpus() -> list[Look]:
    from pipeline.machine import installed_gpus

    try:
        gpus = installed_gpus()
    except InfrastructureError as error:
        return [Look("GPU", False, error.message, "reload the driver, or reboot after its update")]
    if not gpus:
        return [Look("GPU", False, "no nvidia-smi", "CUDA lanes get no GPU evidence here and stay unpublished")]
    return [Look("GPU", True, f"{gpu.name}, sm_{gpu.sm}, driver {gpu.driver}") for gpu in gpus]


def _toolkits() -> list[Look]:
    from pipeline.engine.toolkits import installed_toolkits

    found = installed_toolkits()
    if not found:
        return [Look("toolkit", False, "no nvcc outside of containers", "not needed: lanes bring their own")]
    return [Look("toolkit", bool(kit.version), f"{kit.nvcc} {kit.version or 'does not run'}") for kit in found]


def _disk(name: str, folder: Path) -> Look:
    """Free space where ``folder`` is, or would be made."""
    there = next((place for place in (folder, *folder.parents) if place.is_dir()), Path("/"))
    try:
        free = shutil.disk_usage(there).free
    except OSError as error:
        return Look(f"disk {name}", False, f"{there}: {error.strerror}")
    return Look(f"disk {name}", True, f"{free / _GIB:.1f} GiB free in {there}")
