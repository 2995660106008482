"""The tokens of generated models, and how a text becomes tokens: as SentencePiece would, written out for so few."""

from __future__ import annotations

from pipeline.serve.generated.recipe import DECOY_TOKEN, KNOWN_TOKEN

CONTROL = ("<unk>", "<s>", "</s>")
BOS = 1
SPACE = "\u2581"
WORDS = (SPACE, KNOWN_TOKEN, DECOY_TOKEN)
_FIRST_BYTE = len(CONTROL)
TOKENS = (*CONTROL, *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS)
KNOWN, DECOY = TOKENS.index(KNOWN_TOKEN), TOKENS.index(DECOY_TOKEN)


def encode(text: str) -> list[int]:
    """The tokens of a text, the beginning of text first."""
    tokens, rest = [BOS], text.replace(" ", SPACE)
    while rest:
        word = next((word for word in WORDS if rest.startswith(word)), "")
        tokens += [TOKENS.index(word)] if word else [_FIRST_BYTE + byte for byte in rest[0].encode()]
        rest = rest[len(word) or 1 :]
    return tokens


def told_bytes(token: int) -> bytes | None:
    """What a server prints for a token; ``None`` where two tokens print alike, or one prints nothing."""
    if token < _FIRST_BYTE:
        return None
    if token < _FIRST_BYTE + 256:
        byte = token - _FIRST_BYTE
        return None if byte == ord(" ") else bytes([byte])
    return None if TOKENS[token] == SPACE else TOKENS[token].encode()
