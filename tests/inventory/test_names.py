from __future__ import annotations

import pytest

from pipeline.binary import FormatError
from pipeline.inventory.names import leads_out, relative


@pytest.mark.parametrize(
    ("name", "clean"),
    [("a", "a"), ("./a/b", "a/b"), ("a//b/", "a/b"), (".", ""), ("..a/b..", "..a/b.."), ("a\nb", "a\nb")],
)
def test_names_are_made_relative(name: str, clean: str) -> None:
    assert relative(name) == clean


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "a/../../b", "a/..", "\\\\host\\a", "C:\\a", "x" * 5000])
def test_names_that_lead_out_are_refused(name: str) -> None:
    with pytest.raises(FormatError):
        relative(name)


@pytest.mark.parametrize(
    ("name", "target", "rooted", "out"),
    [
        ("lib/a", "b", False, False),
        ("lib/a", "../b", False, False),
        ("lib/a", "../../b", False, True),
        ("a", "x/../..", False, True),
        ("a", "/etc", False, True),
        ("usr/lib/a", "/etc", True, False),
        ("a", "../../etc", True, False),
    ],
)
def test_links(name: str, target: str, rooted: bool, out: bool) -> None:
    assert leads_out(name, target, rooted=rooted) is out
