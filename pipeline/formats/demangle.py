"""Names of kernels for people: demangled, and the group that all instantiations of one template belong to.

The library is written in Rust and bounds what it prints: a name of 300 bytes can otherwise stand for a gigabyte.
What it does not take is shown as it is.
"""

from __future__ import annotations

import re

_MANGLED = "_Z"
_COMPONENT = re.compile(r"[1-9][0-9]{0,3}")
_PREFIX = re.compile(r"_ZN?K?(?:St)?L?")
# CUB and Thrust put the architectures of the build into a namespace; the kernel in it is the same.
_BUILD_NAMESPACE = re.compile(r"(?:CUB|THRUST)_[0-9]{6}_[0-9A-Z_]+|_GLOBAL__N_\w*|\(anonymous namespace\)|_NV_ANON\w*")


def demangled(name: str) -> str:
    """The C++ name with template arguments and parameters; a name that is not C++ as it is."""
    if not name.startswith(_MANGLED):
        return name
    from multi_demangle import demangle_symbol

    return str(demangle_symbol(name))


def group_of(name: str) -> str:
    """The kernel's name with its namespaces, without template arguments and parameters."""
    if not name.startswith(_MANGLED):
        return name
    from multi_demangle import DemangleOptions, demangle_symbol_structured

    found = demangle_symbol_structured(name, DemangleOptions.name_only())
    parts = [*found.namespace, found.name] if found is not None and found.name else []
    if not parts or parts[-1].startswith(_MANGLED):
        parts = list(_components(name))
    kept = [part for part in parts if not _BUILD_NAMESPACE.fullmatch(part)]
    return "::".join(kept) or name


def _components(name: str) -> list[str]:
    """The plain identifiers that a mangled name starts with, for names too long for the library."""
    start = _PREFIX.match(name)
    at, parts = start.end() if start else len(name), []
    while (length := _COMPONENT.match(name, at)) and length.end() + int(length[0]) <= len(name):
        at = length.end() + int(length[0])
        parts.append(name[length.end() : at])
    return parts
