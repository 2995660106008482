"""The host side before and after: files that are gone, libraries and versions that a user's system must now have.

``file-gone``: a program or library is not there any more. ``needed-added``: a shared library that neither the bundle
nor a base system brings is needed and was not. ``glibc-raised``, ``libstdcxx-raised``: a newer C or C++ library is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.diff.difference import Compared
from pipeline.diff.members import pair
from pipeline.model.finding import Finding, Severity
from pipeline.rules.symbol_versions import CXXABI, GLIBC, GLIBCXX, highest_of_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import Inventory
    from pipeline.model.versions import DottedVersion
    from pipeline.rules.host import HostOffer

FILE_GONE, NEEDED_ADDED, GLIBC_RAISED, LIBSTDCXX_RAISED = (
    "file-gone",
    "needed-added",
    "glibc-raised",
    "libstdcxx-raised",
)
_NO_ELF = "no ELF file in OLD"


def compare_host(old: Inventory, new: Inventory, offer: HostOffer) -> Iterator[Compared]:
    """Every rule about host files."""
    reason = "" if old.elves else _NO_ELF
    yield Compared(FILE_GONE, len(old.elves), tuple(_gone(old, new)), reason)
    yield Compared(NEEDED_ADDED, len(old.elves), tuple(_needed(old, new, offer)), reason)
    before, after = highest_of_all(old.elves), highest_of_all(new.elves)
    yield Compared(GLIBC_RAISED, len(old.elves), tuple(_raised(GLIBC_RAISED, (GLIBC,), before, after, new)), reason)
    families = (GLIBCXX, CXXABI)
    found = tuple(_raised(LIBSTDCXX_RAISED, families, before, after, new))
    yield Compared(LIBSTDCXX_RAISED, len(old.elves), found, reason)


def _gone(old: Inventory, new: Inventory) -> Iterator[Finding]:
    for member in pair((elf.path for elf in old.elves), (elf.path for elf in new.elves)).gone:
        yield Finding(
            rule=FILE_GONE,
            severity=Severity.ERROR,
            path=str(member),
            declared="is in OLD",
            observed=f"no such file in {new.root}",
            remedy="ship it again, or allow the loss (--allow file-gone)",
        )


def _needed(old: Inventory, new: Inventory, offer: HostOffer) -> Iterator[Finding]:
    before = needed_outside(old)
    for library, path in needed_outside(new).items():
        if library not in before and not offer.brings(library):
            yield Finding(
                rule=NEEDED_ADDED,
                severity=Severity.ERROR,
                path=path,
                declared=f"needs {', '.join(sorted(before)) or 'no library'} of the host",
                observed=f"needs {library} as well",
                remedy="ship it in the bundle, or tell users to install it (--allow needed-added)",
            )


def needed_outside(inventory: Inventory) -> dict[str, str]:
    """Libraries that files need and the artifact does not have, with the first file that needs each."""
    inside = (
        {elf.soname for elf in inventory.elves}
        | {elf.path.name.rpartition("/")[2] for elf in inventory.elves}
        | {link.rpartition("/")[2] for link in inventory.links}
    )
    found: dict[str, str] = {}
    for elf in inventory.elves:
        for library in elf.needed:
            if library.rpartition("/")[2] not in inside:
                found.setdefault(library, str(elf.path))
    return found


def _raised(
    rule: str,
    families: tuple[str, ...],
    before: dict[str, DottedVersion],
    after: dict[str, DottedVersion],
    new: Inventory,
) -> Iterator[Finding]:
    for family in families:
        old, now = before.get(family), after.get(family)
        if now is not None and (old is None or now > old):
            yield Finding(
                rule=rule,
                severity=Severity.ERROR,
                path=new.root,
                declared=f"needs {family}_{old}" if old is not None else f"needs no {family} version",
                observed=f"needs {family}_{now}",
                remedy=f"build in the image of the last release, or announce the new host floor (--allow {rule})",
            )
