"""What generated models there are: their shapes and how their weights are packed."""

from __future__ import annotations

from dataclasses import dataclass

VERSION = 4  # goes up with every change of the bytes
KNOWN_TOKEN = "ok"
DECOY_TOKEN = "no"
CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Recipe:
    """One model of the family, a llama of two layers.

    ``packing`` is GGML's name of the matrices' type; rows of K and IQ types come in 256. ``heads`` share
    ``heads_kv`` key heads of ``head`` channels. ``experts`` of 0 is a dense feed-forward, else two of them work on
    every token. ``gain`` makes up for what coarse packing takes from the signal;
    ``seed`` is one with which no token of the prompts is undecided between two experts.
    """

    name: str
    packing: str
    width: int
    feed_forward: int
    heads: int
    heads_kv: int
    head: int
    experts: int = 0
    gain: float = 1.0
    seed: int = 0

    @property
    def file_name(self) -> str:
        """The GGUF's name, which changes whenever its bytes do."""
        return f"cubingate-{self.name}-{VERSION}.gguf"

    @property
    def experts_used(self) -> int:
        """Experts that work on one token."""
        return 2 if self.experts else 0


LAYERS = 2
EPSILON = 1e-5
ROPE_BASE = 10000.0

RECIPES: tuple[Recipe, ...] = (
    Recipe("tiny", "Q8_0", 128, 256, heads=2, heads_kv=1, head=128, gain=1.12),
    Recipe("f32", "F32", 128, 256, heads=4, heads_kv=2, head=64, gain=0.95),
    Recipe("f16", "F16", 256, 256, heads=2, heads_kv=1, head=128, gain=1.12),
    Recipe("bf16", "BF16", 256, 256, heads=4, heads_kv=4, head=64, gain=1.04),
    Recipe("q8_0", "Q8_0", 256, 512, heads=8, heads_kv=2, head=64, gain=1.0),
    Recipe("q4_0", "Q4_0", 256, 512, heads=4, heads_kv=1, head=128, gain=1.18),
    Recipe("q4_k", "Q4_K", 256, 512, heads=4, heads_kv=2, head=128, gain=1.06),
    Recipe("q6_k", "Q6_K", 256, 512, heads=4, heads_kv=2, head=64),
    Recipe("iq4_nl", "IQ4_NL", 256, 512, heads=4, heads_kv=2, head=64, gain=1.05),
    Recipe("iq4_xs", "IQ4_XS", 256, 512, heads=2, heads_kv=2, head=128, gain=1.22),
    Recipe("iq3_xxs", "IQ3_XXS", 256, 256, heads=4, heads_kv=2, head=128, gain=1.12),
    Recipe("iq2_xxs", "IQ2_XXS", 256, 256, heads=8, heads_kv=4, head=64, gain=0.92),
    Recipe("moe-f16", "F16", 128, 128, heads=2, heads_kv=1, head=128, experts=4, seed=23),
    Recipe("moe-q8_0", "Q8_0", 256, 256, heads=4, heads_kv=2, head=64, experts=4, seed=82),
    Recipe("moe-q4_k", "Q4_K", 256, 256, heads=2, heads_kv=1, head=128, experts=8, gain=1.1, seed=46),
)


def recipe(name: str) -> Recipe:
    """The recipe of that name; ``KeyError`` when there is none."""
    return {known.name: known for known in RECIPES}[name]
