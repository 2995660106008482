"""Unpack source archives that others made: nothing outside the folder, no devices, no bomb."""

from __future__ import annotations

import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.model.paths import printable

_MAX_MEMBERS = 200_000
_MAX_BYTES = 16 << 30


def extract(archive: Path, destination: Path) -> None:
    """Unpack a tar (plain, gz, xz, bz2) or zip into the new folder ``destination``.

    ``CorruptInput`` for a damaged archive or a member that would leave the folder (by name or through a link), is a
    device, or exceeds the budget; the folder is then gone again.
    """
    destination.mkdir(parents=True)
    try:
        if zipfile.is_zipfile(archive):
            _extract_zip(archive, destination)
        else:
            _extract_tar(archive, destination)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError) as error:
        shutil.rmtree(destination, ignore_errors=True)
        raise CorruptInput(f"{archive.name}: {error}") from error
    except CorruptInput as error:
        shutil.rmtree(destination, ignore_errors=True)
        raise CorruptInput(f"{archive.name}: {error.message}") from error
    except OSError as error:
        shutil.rmtree(destination, ignore_errors=True)
        raise InfrastructureError(f"cannot unpack {archive.name}: {error.strerror or error}") from error
    except BaseException:
        shutil.rmtree(destination, ignore_errors=True)
        raise


def _extract_tar(archive: Path, destination: Path) -> None:
    with tarfile.open(archive, mode="r:*") as tar:
        total = 0
        links: set[PurePosixPath] = set()
        for count, member in enumerate(tar, start=1):
            _check_tar_member(member, links)
            total += member.size
            _check_budget(count, total)
            tar.extract(member, destination, filter="data")


def _check_tar_member(member: tarfile.TarInfo, links: set[PurePosixPath]) -> None:
    path = _inside(member.name)
    # A member below an earlier link would be written where the link leads.
    if any(parent in links for parent in path.parents):
        raise CorruptInput(f"member {printable(member.name)} lies below a link")
    if member.issym():
        _inside(str(path.parent / member.linkname), absolute=member.linkname.startswith("/"))
        links.add(path)
    elif member.islnk():
        _inside(member.linkname)
    elif not (member.isreg() or member.isdir()):
        raise CorruptInput(f"member {printable(member.name)} is neither file, folder nor link")


def _extract_zip(archive: Path, destination: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        total = 0
        for count, member in enumerate(zipped.infolist(), start=1):
            _inside(member.filename)
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise CorruptInput(f"member {printable(member.filename)} is neither file nor folder")
            total += member.file_size
            _check_budget(count, total)
            written = Path(zipped.extract(member, destination))
            if mode & 0o100 and written.is_file():
                written.chmod(0o755)


def _check_budget(count: int, total: int) -> None:
    if count > _MAX_MEMBERS or total > _MAX_BYTES:
        raise CorruptInput(f"more than {_MAX_MEMBERS} members or {_MAX_BYTES >> 30} GiB unpacked")


def _inside(name: str, *, absolute: bool = False) -> PurePosixPath:
    """The normalized relative path; ``CorruptInput`` when ``name`` leads out of the folder."""
    parts: list[str] = []
    for part in PurePosixPath(name).parts:
        if part == ".." and parts:
            parts.pop()
        elif part in {"..", "/", "//"} or absolute:
            raise CorruptInput(f"member or link {printable(name)} leads out of the archive")
        else:
            parts.append(part)
    return PurePosixPath(*parts)
