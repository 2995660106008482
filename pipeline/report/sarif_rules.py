"""What SARIF says of a rule, out of its docstring: the same text that ``cubingate explain`` prints."""

from __future__ import annotations

from typing import Any

from pipeline.explain.topics import topic_named

_MOST_DESCRIPTION = 1024
"""Characters of a description that GitHub takes."""
_HELP = "urn:cubingate:rule:"
"""docs/rules.md has one section for each; a name and not an address, since clones and mirrors have their own."""


def rule_metadata(rule: str) -> dict[str, Any]:
    """A ``reportingDescriptor``; the id alone where nothing is written about it."""
    topic = topic_named(rule)
    if topic is None:
        return {"id": rule, "shortDescription": {"text": rule}}
    first, *paragraphs = topic.document.split("\n\n")
    lines = [" ".join(paragraph.split()) for paragraph in paragraphs]
    what = " ".join(line for line in lines if line.startswith(("What:", "Why:")))
    return {
        "id": rule,
        "shortDescription": {"text": _cut(" ".join(first.split()))},
        "fullDescription": {"text": _cut(what or " ".join(first.split()))},
        "help": {"text": topic.document, "markdown": _markdown(first, lines)},
        "helpUri": f"{_HELP}{rule}",
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["cuda", topic.asked.value], "precision": "very-high"},
    }


def _markdown(first: str, lines: list[str]) -> str:
    """Each paragraph's word in bold; angle brackets and stars of the text as they are written."""
    parts = [" ".join(first.split())]
    for line in lines:
        word, colon, rest = line.partition(":")
        parts.append(f"**{word}:**{_plain(rest)}" if colon and word.isalpha() else _plain(line))
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_DESCRIPTION else f"{text[: _MOST_DESCRIPTION - 1]}…"
