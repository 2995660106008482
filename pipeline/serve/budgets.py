"""Hold what was measured against the lane's budgets; a JIT of minutes looks like a hang to users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.serve.gpu import MAY_STAY
from pipeline.serve.outcome import CheckFailed, Fault

if TYPE_CHECKING:
    from pipeline.model.lane import SmokeBudgets
    from pipeline.serve.outcome import Measured
    from pipeline.serve.signals import MemorySeen


def keep(budgets: SmokeBudgets, measured: Measured) -> None:
    """``CheckFailed`` with the first budget that is not kept, or of which nothing was measured."""
    for what, allowed, taken, fault in (
        ("ready", budgets.ready, measured.ready, Fault.READY_OVER_BUDGET),
        ("first token", budgets.first_token, measured.first_token, Fault.FIRST_TOKEN_OVER_BUDGET),
        ("warm token", budgets.warm_token, measured.warm_token, Fault.WARM_TOKEN_OVER_BUDGET),
    ):
        if allowed is not None and (taken is None or taken > allowed):
            raise CheckFailed(fault, f"{what} after {_seconds(taken)}, the budget is {allowed:g} s")


def keep_memory(budgets: SmokeBudgets, seen: MemorySeen) -> None:
    """``CheckFailed`` when the card's memory was not given back."""
    allowed = MAY_STAY if budgets.gpu_mebibytes_left is None else budgets.gpu_mebibytes_left * (1 << 20)
    if seen.left is not None and seen.left > allowed:
        raise CheckFailed(
            Fault.LEAVES_GPU_MEMORY, f"{seen.left >> 20} MiB of the GPU's memory are still taken after the server's end"
        )


def _seconds(value: float | None) -> str:
    return "no time that was measured" if value is None else f"{value:.2f} s"
