"""Archives and host libraries for tests, made by gcc, binutils and the standard library."""

from __future__ import annotations

import functools
import gzip
import io
import json
import lzma
import subprocess
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

EPOCH = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Library:
    """A host ELF file to link: containers go into ``section``, each registered by a wrapper of that version."""

    fatbins: tuple[bytes, ...] = ()
    section: str = ".nv_fatbin"
    wrapper: int = 1
    soname: str | None = "libfixture.so.1"
    needed: tuple[str, ...] = ("libc.so.6",)
    runpath: str | None = None
    rpath: str | None = None
    undefined: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    exports: tuple[str, ...] = ("fixture_init",)
    strings: tuple[str, ...] = ()
    rodata: bytes = b""
    kind: str = "shared"


@functools.cache
def link(library: Library) -> bytes:
    """Assemble and link with gcc; ``object`` stops before linking, ``executable`` makes a PIE."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "unit.s").write_text(_assembly(library, folder))
        if library.kind == "object":
            _run(["as", "unit.s", "-o", "out"], folder)
            return (folder / "out").read_bytes()
        stubs = [_stub(folder, soname, library) for soname in library.needed]
        flags = (
            ["-shared"] if library.kind == "shared" else ["-pie", "-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2"]
        )
        flags += [f"-Wl,-soname,{library.soname}"] if library.soname and library.kind == "shared" else []
        flags += [f"-Wl,-rpath,{library.runpath}", "-Wl,--enable-new-dtags"] if library.runpath else []
        flags += [f"-Wl,-rpath,{library.rpath}", "-Wl,--disable-new-dtags"] if library.rpath else []
        common = ["-nostdlib", "-Wl,--build-id=none", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"]
        _run(["gcc", *flags, *common, "unit.s", *stubs, "-o", "out"], folder)
        return (folder / "out").read_bytes()


def _assembly(library: Library, folder: Path) -> str:
    lines: list[str] = []
    for index, content in enumerate(library.fatbins):
        (folder / f"{index}.fatbin").write_bytes(content)
        lines += [f'.section {library.section},"a",@progbits', ".balign 8", f"fatbin{index}:"]
        lines.append(f'.incbin "{index}.fatbin"')
    for index in range(len(library.fatbins)):
        lines += ['.section .nvFatBinSegment,"aw",@progbits', ".balign 8", f".long 0x466243b1, {library.wrapper}"]
        lines += [f".quad fatbin{index}", ".quad 0"]
    lines += ['.section .data.rel,"aw",@progbits', ".balign 8"]
    for symbol in (*library.undefined, *library.weak):
        plain = symbol.partition("@")[0]
        lines += [*([f".weak {plain}"] if symbol in library.weak else []), f".quad {plain}"]
    lines += ['.section .rodata,"a",@progbits', ".byte 0"]
    lines += [f".asciz {json.dumps(text)}" for text in library.strings]
    (folder / "rodata").write_bytes(library.rodata)
    lines += [".balign 8", '.incbin "rodata"', ".text"]
    for name in (*library.exports, *(["_start"] if library.kind == "executable" else [])):
        lines += [f".globl {name}", f".type {name},@function", f"{name}: ret", f".size {name}, .-{name}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def _stub(folder: Path, soname: str, library: Library) -> str:
    """A link-time stand-in that defines the wanted symbols, with their versions, under that soname."""
    symbols = [s.partition("@") for s in (*library.undefined, *library.weak) if soname == library.needed[0]]
    source = "".join(f".globl {name}\n.type {name},@function\n{name}: ret\n" for name, _, _ in symbols)
    (folder / "stub.s").write_text(f'.text\n{source}.section .note.GNU-stack,"",@progbits\n')
    out = f"stub_{soname}"
    script: dict[str, list[str]] = {}
    for name, _, version in symbols:
        script.setdefault(version, []).append(name)
    script.pop("", None)
    text = "".join(f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in script.items())
    (folder / "stub.map").write_text(text)
    flags = ["-Wl,--version-script,stub.map"] if script else []
    _run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", *flags, "stub.s", "-o", out], folder)
    return out


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def tar_of(files: dict[str, bytes], *, links: dict[str, str] | None = None) -> bytes:
    """An uncompressed tar archive of regular files, then symbolic links."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), EPOCH
            archive.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return buffer.getvalue()


def tar_member(**fields: object) -> bytes:
    """A tar archive with one member whose header fields are set as given (``type``, ``name``, ``linkname`` …)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        member = tarfile.TarInfo("member")
        for key, value in fields.items():
            setattr(member, key, value)
        archive.addfile(member)
    return buffer.getvalue()


def gz(content: bytes) -> bytes:
    """Compressed by gzip."""
    return gzip.compress(content, 1, mtime=0)


def zst(content: bytes) -> bytes:
    """Compressed by Zstandard."""
    from backports import zstd

    return zstd.compress(content)


def xz(content: bytes) -> bytes:
    """Compressed by xz."""
    return lzma.compress(content, preset=0)


def zip_of(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED, streamed: bool = False) -> bytes:
    """A zip archive; ``streamed`` leaves the sizes to descriptors behind the members."""
    buffer = io.BytesIO()
    target = _Unseekable(buffer) if streamed else buffer
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2023, 11, 14, 0, 0, 0)), content, method)
    return buffer.getvalue()


class _Unseekable(io.RawIOBase):
    """A pipe, as far as a zip writer can tell."""

    def __init__(self, buffer: io.BytesIO) -> None:
        self._buffer = buffer

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]
        return self._buffer.write(content)


def wheel_of(files: dict[str, bytes]) -> bytes:
    """A wheel."""
    return zip_of({**files, "fixture-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\n"})


def ar_of(files: list[tuple[str, bytes]]) -> bytes:
    """A static library or Debian package, names in GNU style."""
    out = b"!<arch>\n"
    for name, content in files:
        out += f"{name + '/':<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


def deb_of(files: dict[str, bytes], *, links: dict[str, str] | None = None) -> bytes:
    """A Debian package with that data."""
    data = xz(tar_of({f"./{name}": content for name, content in files.items()}, links=links))
    control = xz(tar_of({"./control": b"Package: fixture\n"}))
    return ar_of([("debian-binary", b"2.0\n"), ("control.tar.xz", control), ("data.tar.xz", data)])
