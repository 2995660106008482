"""Everything that has an id, in the order in which documents list it."""

from __future__ import annotations

from pipeline.explain.jit import COMPILATIONS
from pipeline.explain.lints import LINTS
from pipeline.explain.losses import LOSSES
from pipeline.explain.topic import Asked, Topic
from pipeline.rules.registry import RULES

_PAYLOAD = Topic(
    "payload",
    Asked.AUDIT,
    """
Whether compressed device code was looked into.

What: an outcome, not a finding. Headers say which GPU, codec and PTX an entry is for; damage inside a compressed
payload they do not show, so without --deep the outcome is "skipped" and says how many entries it is about.

Why: reading headers takes milliseconds, unpacking everything takes as long as the library is large.

Remedy: audit --deep (or --kernels) unpacks every payload; a damaged one is then corrupt-input.

Source: measured: H200 with driver 580.159.04, damaged payloads are "unknown error" (999).
""".strip(),
)

_JIT_FORBIDDEN = Topic(
    "jit-forbidden",
    Asked.AUDIT,
    """
Only PTX serves the GPU, and the JIT compiler may not be used.

What: what the same target answers under CUDA_DISABLE_PTX_JIT=1 (`jit_forbidden` in the JSON of audit and load). It
decides nothing about the target itself.

Why: with the variable set, a container without a cubin for the GPU is "PTX JIT compilation was disabled" (223). It is
the way to see on a machine whether machine code serves, or the driver compiles at every first start.

Remedy: add the GPU's own cubin to the arch list, or leave the variable unset.

Source: CUDA C++ Programming Guide, CUDA environment variables; measured: H200 with driver 580.159.04.
""".strip(),
)

TOPICS: tuple[Topic, ...] = (
    *(Topic(rule.id, Asked.AUDIT, rule.document) for rule in RULES),
    _PAYLOAD,
    _JIT_FORBIDDEN,
    *COMPILATIONS,
    *LOSSES,
    *LINTS,
)


def topic_named(identifier: str) -> Topic | None:
    """The topic with this id."""
    return next((topic for topic in TOPICS if topic.id == identifier), None)
