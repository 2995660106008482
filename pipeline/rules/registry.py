"""Every rule, in the order in which one explains a failure before another does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.rules import (
    arch_missing,
    arch_suffix,
    archive_unread,
    compat_shim,
    corrupt_input,
    cpu_flavour,
    cubin_abi,
    declared_archs,
    distribution_unread,
    driver_library_shipped,
    driver_retired,
    driver_too_old_for_gpu,
    fatbin_codec,
    fatbin_kind,
    glibc_floor,
    jit_feature,
    kernel_missing,
    libcuda_symbol,
    libstdcxx_floor,
    needed_library,
    outside_policy,
    platform_mismatch,
    ptx_isa,
    register_budget,
    rehearsal,
    require_cuda,
    size_budget,
    static_shared_memory,
    toolkit_major,
    toolkit_mismatch,
    toolkit_mix,
    x86_64_level,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from pipeline.rules.subject import Examination, Subject


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its id, its documentation (the module's docstring), and the pure function that applies it."""

    id: str
    document: str
    check: Callable[[Subject], Examination]


def _rule(module: ModuleType) -> Rule:
    return Rule(module.RULE, (module.__doc__ or "").strip(), module.check)


RULES: tuple[Rule, ...] = tuple(
    _rule(module)
    for module in (
        corrupt_input,
        outside_policy,
        driver_retired,
        driver_too_old_for_gpu,
        cpu_flavour,
        platform_mismatch,
        compat_shim,
        driver_library_shipped,
        require_cuda,
        libcuda_symbol,
        fatbin_codec,
        ptx_isa,
        toolkit_major,
        cubin_abi,
        fatbin_kind,
        arch_missing,
        arch_suffix,
        kernel_missing,
        jit_feature,
        static_shared_memory,
        register_budget,
        rehearsal,
        needed_library,
        glibc_floor,
        libstdcxx_floor,
        x86_64_level,
        declared_archs,
        toolkit_mismatch,
        toolkit_mix,
        distribution_unread,
        archive_unread,
        size_budget,
    )
)
