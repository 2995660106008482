"""The cases of a smoke: which model is served, with which of llama-server's options, and what it is asked.

One case is one start of the server. The kernels that users' models hit differ by data type, by head size, by whether
attention is fused, by experts, and by whether many tokens are read at once or one is written: the family has them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.serve.generated.recipe import Recipe, recipe

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_PROMPT = "Answer with one word."
SECOND_PROMPT = "Once more: one word."
PROMPT = "Answer with one word, and think of what every layer hands on."
# More than the batches of the case that asks this.
LONG_PROMPT = " ".join([PROMPT] * 4)
ANSWER_TOKENS = 4
"""How many tokens are compared: the first comes out of reading a prompt, the others of writing one by one."""


@dataclass(frozen=True, slots=True)
class Case:
    """One start of a server. ``recipe`` of ``None`` is the model that ``smoke.model`` names, which has no reference.

    ``words`` are added to the command. ``prompts`` are asked all at once, ``stream`` piece by piece.
    """

    name: str
    recipe: Recipe | None
    words: tuple[str, ...] = ()
    prompts: tuple[str, ...] = (PROMPT,)
    stream: bool = False


FETCHED = Case("model", None)
_FUSED, _PLAIN = ("-fa", "on"), ("-fa", "off")
CASES: tuple[Case, ...] = (
    Case("tiny", recipe("tiny")),
    Case("f32", recipe("f32"), _PLAIN),
    Case("f32-fa", recipe("f32"), _FUSED),
    Case("f16", recipe("f16"), _PLAIN),
    Case("f16-fa", recipe("f16"), _FUSED),
    Case("bf16", recipe("bf16")),
    Case("q8_0", recipe("q8_0"), _PLAIN),
    Case("q8_0-fa", recipe("q8_0"), _FUSED),
    Case("q4_0", recipe("q4_0")),
    Case("q4_k", recipe("q4_k")),
    Case("q6_k", recipe("q6_k")),
    Case("iq4_nl", recipe("iq4_nl")),
    Case("iq4_xs", recipe("iq4_xs"), _PLAIN, (FIRST_PROMPT,)),
    Case("iq3_xxs", recipe("iq3_xxs")),
    Case("iq2_xxs", recipe("iq2_xxs"), _PLAIN, (FIRST_PROMPT,)),
    Case("moe-f16", recipe("moe-f16"), prompts=(FIRST_PROMPT,)),
    Case("moe-q8_0", recipe("moe-q8_0"), prompts=(FIRST_PROMPT,)),
    Case("moe-q4_k", recipe("moe-q4_k"), prompts=(FIRST_PROMPT,)),
    Case("long-prompt", recipe("q8_0"), ("-b", "64", "-ub", "32"), (LONG_PROMPT,)),
    Case("slots", recipe("q8_0"), ("-np", "2"), (PROMPT, FIRST_PROMPT)),
    Case("stream", recipe("tiny"), (), (PROMPT,), stream=True),
)
FAMILY = "family"
"""The name that stands for all of them."""
NAMES = (FAMILY, *(case.name for case in CASES))


def cases_for(names: Iterable[str]) -> tuple[Case, ...]:
    """The cases of those names, each once, in the family's order; ``UsageError`` for a name that is none."""
    wanted = set(names)
    unknown = wanted - set(NAMES)
    if unknown:
        raise UsageError(
            f"no generated model is called {', '.join(sorted(unknown))}", remedy=f"there are: {', '.join(NAMES)}"
        )
    return tuple(case for case in CASES if FAMILY in wanted or case.name in wanted)
