"""Only decompress a wheel or a .tar.gz, with the fastest library we know: what an audit of it is held against."""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path
from typing import IO

from isal import igzip_lib

_PIECE = 1 << 18
_OUT = 1 << 20


def inflate(file: IO[bytes], left: int, flag: int) -> int:
    """Decompress ``left`` bytes of ``file``; how many came out."""
    decompressor = igzip_lib.IgzipDecompressor(flag=flag)
    out = 0
    while not decompressor.eof:
        piece = b""
        if decompressor.needs_input:
            piece = file.read(min(left, _PIECE))
            left -= len(piece)
        out += len(decompressor.decompress(piece, _OUT))
    return out


def unzip(path: Path) -> int:
    """All members of a zip archive."""
    out = 0
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            file.seek(member.header_offset)
            name, extra = struct.unpack("<HH", file.read(30)[26:30])
            file.seek(name + extra, 1)
            if member.compress_type == zipfile.ZIP_STORED:
                out += len(file.read(member.compress_size))
            else:
                out += inflate(file, member.compress_size, igzip_lib.DECOMP_DEFLATE)
    return out


def main() -> None:
    """Decompress the file named on the command line."""
    path = Path(sys.argv[1])
    if zipfile.is_zipfile(path):
        print(unzip(path))
    else:
        with path.open("rb") as file:
            print(inflate(file, path.stat().st_size, igzip_lib.DECOMP_GZIP))


if __name__ == "__main__":
    main()
