"""Distributions of one environment that are of different CUDA majors.

What: a distribution is named for one CUDA major and carries or links libraries of another (libcublas.so.13 or
cublas64_13.dll in a package called cuda12); an extension of torch is built for another major than torch; a compiler
(nvidia-cuda-nvcc) is of another major than the torch whose extensions it would compile. Packages of different majors
that only stand beside each other, each with its own libraries, are told as warnings, and so is a CUDA toolkit outside
of all distributions.

Why: one extra index too many, or a pin without its local version (+cu126), and the resolver takes a build for another
CUDA. Nothing fails before the first kernel is compiled or the first extension is imported: "The detected CUDA version
mismatches the version that was used to compile PyTorch", "undefined symbol", or "cannot open shared object file". The
driver floor is that of the newer major (13 needs 580.65.06).

Remedy: pin all of them to one CUDA major: name the index of that build for torch and its extensions alone, pin the
local version, and take nvidia-cuda-nvcc and the -cu12 or unsuffixed libraries of the same major.

Source: torch.utils.cpp_extension (check of the CUDA version); torchvision.extension (check against torch.version.cuda);
CUDA Compatibility, minor version compatibility; FreeToken issues 51 and 140.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.rules.provenance import Provenance
    from pipeline.rules.subject import Subject

RULE = "toolkit-mix"
_TORCH = ("libc10_cuda.so", "libtorch_cuda.so")
_LINKED_WITH_TORCH = (*_TORCH, "libtorch_cuda_linalg.so")
_COMPILER = "nvidia-cuda-nvcc"
_ONE = "one CUDA major in the environment"


def check(subject: Subject) -> Examination:
    """Every distribution against its own name, and against the torch of its environment."""
    if not subject.distributions:
        return Examination(0, (), "no distribution in the input")
    from pipeline.rules.provenance import provenances  # most artifacts are no distributions

    known = [item for item in provenances(subject) if item.majors]
    if not known:
        return Examination(0, (), "no distribution is of a CUDA version")
    within = (_claim(subject, item, said, Effect.FAIL) for item in known for said in _contradiction(item))
    return Examination(len(known), (*within, *_between(subject, known)))


@dataclass(frozen=True, slots=True)
class _Said:
    """Both sides and the remedy."""

    declared: str
    observed: str
    remedy: str


def _claim(subject: Subject, item: Provenance, said: _Said, effect: Effect) -> Claim:
    return Claim(
        rule=RULE,
        effect=effect,
        path=item.distribution.path,
        declared=said.declared,
        observed=said.observed,
        remedy=said.remedy,
        targets=subject.labels if effect is Effect.FAIL else (),
        group=item.distribution.path,
    )


def _contradiction(item: Provenance) -> Iterator[_Said]:
    """A name that says one major while all CUDA libraries that it has to do with are of another."""
    has = item.carried | item.linked
    if item.named and has and item.named not in has:
        major, library = next(iter(has.items()))
        verb = "carries" if major in item.carried else "links"
        yield _Said(
            f"CUDA {item.named} ({item.distribution.label})",
            f"{item.distribution.label} {verb} {library} of CUDA {major}",
            f"take the build for CUDA {item.named}, or the distribution that is named for CUDA {major}",
        )


def _between(subject: Subject, known: Sequence[Provenance]) -> Iterator[Claim]:
    environments: dict[str, list[Provenance]] = {}
    for item in known:
        environments.setdefault(item.distribution.environment, []).append(item)
    for environment, members in environments.items():
        around = [item for item in known if environment.startswith(f"{item.distribution.environment}!/")]
        torches = [item for item in members if item.brings(_TORCH)]
        others = [item for item in (*members, *around) if item not in torches]
        if torches:
            for torch in torches:
                yield from _beside_torch(subject, torch, others)
        else:
            yield from _beside_each_other(subject, others)


def _beside_torch(subject: Subject, torch: Provenance, others: Sequence[Provenance]) -> Iterator[Claim]:
    majors = frozenset(torch.linked) or torch.majors
    for item in others:
        if majors.isdisjoint(item.majors):
            ours, theirs, label = _listed(majors), _listed(item.majors), item.distribution.label
            fix = (
                f"install its build for CUDA {ours}, or torch's for CUDA {theirs} (pin +cu{theirs}x and name its index)"
            )
            observed, effect = f"{label} is of CUDA {theirs}", Effect.WARNING
            if item.distribution.name.startswith(_COMPILER):
                observed = f"{label} compiles for CUDA {theirs}: torch refuses to build extensions with it"
                effect = Effect.FAIL
            elif item.needs(_LINKED_WITH_TORCH):
                observed, effect = f"{label} is an extension of torch built for CUDA {theirs}", Effect.FAIL
            remedy = fix if effect is Effect.FAIL else f"nothing, if it stands alone; else {fix}"
            yield _claim(subject, item, _Said(f"CUDA {ours} ({torch.distribution.label})", observed, remedy), effect)


def _beside_each_other(subject: Subject, items: Sequence[Provenance]) -> Iterator[Claim]:
    """Without a torch nothing says whose major is right: the rarer ones are told, each beside a frequent one."""
    votes = Counter(item.majors for item in items)
    frequent_first = sorted(items, key=lambda item: -votes[item.majors])
    for place, item in enumerate(frequent_first):
        other = next((other for other in frequent_first[:place] if other.majors.isdisjoint(item.majors)), None)
        if other is not None:
            beside = f"{other.distribution.label} of CUDA {_listed(other.majors)}"
            observed = f"{item.distribution.label} is of CUDA {_listed(item.majors)}, beside {beside}"
            remedy = "nothing, if they do not load each other's libraries; else pin all to one CUDA major"
            yield _claim(subject, item, _Said(_ONE, observed, remedy), Effect.WARNING)


def _listed(majors: frozenset[int]) -> str:
    return " and ".join(str(major) for major in sorted(majors))
