"""A host file for another instruction set than the lane promises.

What: an ELF program or library whose machine is not the lane's platform (an x86_64 server in an aarch64 lane).

Why: the lane was copied and its base image, runner or prebuilt source was not changed with it. The device code is the
same for both, so nothing else notices; users see "cannot execute binary file: Exec format error".

Remedy: build on the platform that the lane names (an aarch64 runner and base image), or correct `platform:`.

Source: the e_machine field of the ELF header (System V ABI, gABI 4.1, "ELF Header").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.rules.subject import Subject

RULE = "platform-mismatch"


def check(subject: Subject) -> Examination:
    """Every host file that is for another platform."""
    platform = subject.declaration.platform if subject.declaration is not None else None
    if platform is None:
        return Examination(0, (), "no platform is declared")
    if not subject.elves:
        return Examination(0, (), "no ELF file")
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL,
            path=str(elf.path),
            declared=f"platform {platform}",
            observed=f"an ELF file for {elf.machine}",
            remedy=f"build on {platform}, or correct the lane's platform",
            targets=subject.labels,
            group=elf.machine,
        )
        for elf in subject.elves
        if elf.machine != platform.value
    )
    return Examination(len(subject.elves), claims)
