"""Write a generated model as GGUF: llama architecture, two layers, byte tokens plus the two answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.serve.generated.recipe import CONTEXT, EPSILON, KNOWN_TOKEN, LAYERS, ROPE_BASE
from pipeline.serve.generated.vocabulary import CONTROL, DECOY, KNOWN, TOKENS, WORDS

if TYPE_CHECKING:
    from pathlib import Path

    import gguf
    import numpy as np
    import numpy.typing as npt

    from pipeline.serve.generated.recipe import Recipe

EXPECTED_TOKEN_KEY = "cubingate.expected_token"
# What is asked is what is read, word for word: a template of the server's own would change with its version.
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def write_model(recipe: Recipe, path: Path) -> None:
    """Write the GGUF of ``recipe`` to ``path``."""
    import gguf  # imports numpy: too slow for the start of a command

    from pipeline.serve.generated import weights

    writer = gguf.GGUFWriter(path, "llama")
    _write_keys(writer, recipe)
    _write_vocabulary(writer)
    for name, vector in weights.norms(recipe).items():
        writer.add_tensor(name, vector)
    vocabulary = weights.Vocabulary(len(TOKENS), KNOWN, DECOY)
    for name, matrix in weights.matrices(recipe, vocabulary).items():
        _add(writer, name, matrix, recipe.packing)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: gguf.GGUFWriter, name: str, matrix: npt.NDArray[np.float32], packing: str) -> None:
    import gguf

    from pipeline.serve.generated.packing import packed

    kind = _kind(name, packing)
    writer.add_tensor(name, packed(matrix, kind), raw_dtype=gguf.GGMLQuantizationType[kind])


def _kind(name: str, packing: str) -> str:
    """As in released models: routers stay whole, embeddings are packed simply, the output finer than IQ types do."""
    if name.endswith("ffn_gate_inp.weight"):
        return "F32"
    if name == "token_embd.weight" and packing not in {"F32", "F16", "BF16"}:
        return "Q8_0"
    return "Q6_K" if name == "output.weight" and packing.startswith("IQ") else packing


def _write_keys(writer: gguf.GGUFWriter, recipe: Recipe) -> None:
    writer.add_name(recipe.file_name.removesuffix(".gguf"))
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(recipe.width)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(recipe.feed_forward)
    writer.add_head_count(recipe.heads)
    writer.add_head_count_kv(recipe.heads_kv)
    writer.add_key_length(recipe.head)
    writer.add_value_length(recipe.head)
    writer.add_rope_dimension_count(recipe.head)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    if recipe.experts:
        writer.add_expert_count(recipe.experts)
        writer.add_expert_used_count(recipe.experts_used)
    writer.add_string(EXPECTED_TOKEN_KEY, KNOWN_TOKEN)


def _write_vocabulary(writer: gguf.GGUFWriter) -> None:
    """A SentencePiece vocabulary that can encode any text."""
    from gguf import TokenType

    kinds = [TokenType.UNKNOWN, *[TokenType.CONTROL] * (len(CONTROL) - 1)]
    kinds += [TokenType.BYTE] * 256 + [TokenType.NORMAL] * len(WORDS)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(TOKENS))
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)
