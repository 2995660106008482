from __future__ import annotations

import pytest

from pipeline.binary import FormatError
from pipeline.formats.whiteout import LayerName, NameKind, layer_name


@pytest.mark.parametrize(
    ("name", "kind", "path"),
    [
        ("usr/lib/a.so", NameKind.MEMBER, "usr/lib/a.so"),
        ("usr/lib/a.wh.so", NameKind.MEMBER, "usr/lib/a.wh.so"),
        ("usr/lib/.whatever", NameKind.MEMBER, "usr/lib/.whatever"),
        ("usr/lib/.wh.a.so", NameKind.WHITEOUT, "usr/lib/a.so"),
        (".wh.usr", NameKind.WHITEOUT, "usr"),
        (".wh...hidden", NameKind.WHITEOUT, "..hidden"),
        ("usr/.wh..wh..opq", NameKind.OPAQUE, "usr"),
        (".wh..wh..opq", NameKind.OPAQUE, ""),
        (".wh..wh.aufs", NameKind.BOOKKEEPING, ".wh..wh.aufs"),
        (".wh..wh.plnk/12.34", NameKind.BOOKKEEPING, ".wh..wh.plnk/12.34"),
    ],
)
def test_names_in_layers(name: str, kind: NameKind, path: str) -> None:
    assert layer_name(name) == LayerName(kind, path)


@pytest.mark.parametrize("name", [".wh.", "d/.wh.", "d/.wh..", "d/.wh...", ".wh.d/a", "a/.wh.b/.wh.c"])
def test_whiteouts_that_no_tool_writes(name: str) -> None:
    with pytest.raises(FormatError, match="whiteout"):
        layer_name(name)
