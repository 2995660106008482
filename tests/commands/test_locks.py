"""A file of requirements that pins none of them is told so, and is not read as data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from pipeline.commands.locks import lock_reader
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        "bitsandbytes>=0.4\n",
        "# ours\ntorch >= 2.6, < 3  # newer\nnumpy\n-r more.txt\n",
        "a[x]~=1.0 ; sys_platform == 'x'",
    ],
)
def test_requirements_that_pin_nothing_are_told_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="pins nothing") as refused:
        lock_reader(argparse.Namespace(), [path], None, None)
    assert "pip freeze" in str(refused.value)
    assert "uv pip compile" in str(refused.value)


@pytest.mark.parametrize("text", ["All about torch, which is fast.\n", "numpy\n", "x >= 3 is what we say\n", ""])
def test_another_text_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    assert lock_reader(argparse.Namespace(), [path], None, None) is None
