"""Reads ``compat.json`` strictly: it comes from outside, and a choice made on half of it would be a guess."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.errors import CorruptInput, NothingExamined
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.document import SCHEMA_VERSION
from pipeline.model.paths import printable
from pipeline.model.served import ServedGpu, Serves, Service
from pipeline.model.target import Flavour, Platform
from pipeline.model.versions import DriverVersion, GlibcVersion, ToolkitVersion
from pipeline.pick.asset import Asset, Basis, PromisedTarget, Release, Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
LARGEST = 8 << 20
"""Bytes; a release of 256 assets has less than two million."""
_LONGEST = 255  # characters of a name, as in file systems
_SM_DIGITS = range(2, 4)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class _Wrong(Exception):
    """What is wrong, and where in the document."""


def read_release(raw: bytes, source: str) -> Release:
    """The assets of a ``compat.json``.

    ``CorruptInput`` for anything else, for one of a newer schema and for names that are no plain file names;
    ``NothingExamined`` where it lists no asset.
    """
    if len(raw) > LARGEST:
        raise CorruptInput(f"{source}: larger than {LARGEST >> 20} MiB, which no compat.json is")
    try:
        content = _object(json.loads(raw.decode("utf-8")), "the document")
        _check_head(content)
        listed = [_asset(row, f"assets[{place}]") for place, row in enumerate(_get(content, "assets", list, "it"))]
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CorruptInput(f"{source}: not JSON: {printable(str(error))[:_LONGEST]}") from error
    except _Wrong as error:
        raise CorruptInput(f"{source}: {error}", remedy="name the compat.json of a release of cubingate") from error
    if not listed:
        raise NothingExamined(f"{source}: lists no asset")
    if len({asset.file for asset in listed}) != len(listed):
        raise CorruptInput(f"{source}: lists two assets of one name")
    return Release(source, tuple(listed))


def _check_head(content: dict[str, Any]) -> None:
    kind, version = _get(content, "kind", str, "it"), _get(content, "schema_version", int, "it")
    if kind != "compat":
        raise _Wrong(f"a document of kind {_told(kind)}, not compat")
    if version != SCHEMA_VERSION:
        raise _Wrong(f"has schema_version {str(version)[:9]}; this cubingate reads {SCHEMA_VERSION}")


def _asset(row: Any, at: str) -> Asset:
    row = _object(row, at)
    archs = _get(row, "archs", dict, at)
    floors = _get(_get(row, "minimum_driver", dict, at), "inferred", dict, f"{at}.minimum_driver")
    toolkit, glibc = _text_or_none(row, "toolkit", at), _text_or_none(row, "glibc", at)
    serves = _serves(row["serves"], f"{at}.serves") if "serves" in row else None
    promised = _made(GlibcVersion, glibc, at) if glibc is not None else None
    return Asset(
        file=_name(row, "file", at),
        sha256=_sha256(row, at),
        size=_size(row, at),
        lane=_name(row, "lane", at),
        flavour=_made(Flavour, _get(row, "flavour", str, at), at),
        platform=_made(Platform, _get(row, "platform", str, at), at),
        toolkit=_made(ToolkitVersion, toolkit, at) if toolkit is not None else None,
        archs=(*_archs(archs, "real", at), *_archs(archs, "virtual", at)),
        glibc=promised or (serves.glibc if serves is not None else None),
        floors={_sm(sm, at): _driver_or_none(driver, at) for sm, driver in floors.items()},
        targets=tuple(
            target
            for place, item in enumerate(_get(row, "targets", list, at))
            for target in _targets(item, f"{at}.targets[{place}]")
        ),
        serves=serves,
    )


def _sha256(row: dict[str, Any], at: str) -> str:
    """What users hold their download against: nothing but a digest."""
    told: str = _get(row, "sha256", str, at)
    if not _SHA256.fullmatch(told):
        raise _Wrong(f"{at}: {_told(told)} is no SHA-256")
    return told


def _size(row: dict[str, Any], at: str) -> int:
    size: int = _get(row, "size", int, at)
    if not 0 <= size < 1 << 63:
        raise _Wrong(f"{at}: size is no number of bytes")
    return size


def _serves(value: Any, at: str) -> Serves:
    value = _object(value, at)
    glibc = _text_or_none(value, "glibc", at)
    rows = _get(value, "gpus", list, at)
    return Serves(
        policy_date=_name(value, "policy_date", at),
        newest_branch=_get(value, "newest_branch", int, at),
        glibc=_made(GlibcVersion, glibc, at) if glibc is not None else None,
        gpus=tuple(_gpu(row, f"{at}.gpus[{place}]") for place, row in enumerate(rows)),
    )


def _gpu(value: Any, at: str) -> ServedGpu:
    value = _object(value, at)
    service = _made(Service, _get(value, "served", str, at), at)
    driver = _driver_or_none(value.get("minimum_driver"), at)
    if (service in {Service.NATIVE, Service.JIT}) != (driver is not None):
        raise _Wrong(f"{at}: served {service.value}, but minimum_driver is {driver}")
    last = value.get("last_branch")
    return ServedGpu(
        sm=_sm(_get(value, "sm", str, at), at),
        service=service,
        minimum_driver=driver,
        reason=_name(value, "reason", at),
        last_branch=None if last is None else _get(value, "last_branch", int, at),
        tegra=_get(value, "tegra", bool, at),
    )


def _targets(value: Any, at: str) -> tuple[PromisedTarget, ...]:
    """The target; none where nothing is known of it."""
    value = _object(value, at)
    standing = _get(value, "standing", str, at)
    if standing == "missing":
        return ()
    sm, _, driver = _get(value, "target", str, at).partition("@")
    return (
        PromisedTarget(
            sm=_sm(sm, at),
            driver=_made(DriverVersion, driver, at),
            basis=_made(Basis, standing, at),
            gpu=_board(value, at),
            seen=tuple(_seen(value, at)),
        ),
    )


def _seen(target: dict[str, Any], at: str) -> Iterator[Seen]:
    """Where it was proven; older versions say nothing of that."""
    for row in _get(target, "proven_on", list, at) if "proven_on" in target else ():
        found = _object(row, f"{at}.proven_on")
        if found.get("driver") is not None:
            yield Seen(_board(found, at), _made(DriverVersion, found["driver"], at))


def _board(value: dict[str, Any], at: str) -> str:
    """The board's name, which opens no file but must be safe to print; empty where none is told."""
    name = _text_or_none(value, "gpu", at) if "gpu" in value else None
    if name is not None and (len(name) > _LONGEST or not name.isprintable()):
        raise _Wrong(f"{at}: gpu {_told(name)} is not a plain name")
    return name or ""


def _archs(value: dict[str, Any], kind: str, at: str) -> tuple[TargetArch, ...]:
    names = _get(value, kind, list, f"{at}.archs")
    return tuple(_made(lambda name: TargetArch.of(name, ArchKind(kind)), name, f"{at}.archs.{kind}") for name in names)


def _sm(text: str, at: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) not in _SM_DIGITS:
        raise _Wrong(f"{at}: {_told(text)} is not an SM number")
    return int(text)


def _driver_or_none(value: Any, at: str) -> DriverVersion | None:
    return None if value is None else _made(DriverVersion, value, at)


def _text_or_none(row: dict[str, Any], key: str, at: str) -> str | None:
    return None if key in row and row[key] is None else _get(row, key, str, at)


def _name(row: dict[str, Any], key: str, at: str) -> str:
    """A name that is safe to print and to open beside the document."""
    name: str = _get(row, key, str, at)
    if not name or len(name) > _LONGEST or not name.isprintable() or "/" in name or "\\" in name or name in {".", ".."}:
        raise _Wrong(f"{at}: {key} {_told(name)} is not a plain name")
    return name


def _made(make: Callable[[str], T], text: Any, at: str) -> T:
    if not isinstance(text, str):
        raise _Wrong(f"{at}: {type(text).__name__} where text was expected")
    try:
        return make(text)
    except ValueError:
        raise _Wrong(f"{at}: {_told(text)} means nothing here") from None


def _get(row: dict[str, Any], key: str, kind: type, at: str) -> Any:
    value = row.get(key)
    # bool is an int to Python, and to no other reader of JSON
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _Wrong(f"{at}: {key} is {'not there' if key not in row else f'no {kind.__name__}'}")
    return value


def _object(value: Any, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{at} is no object")
    return value


def _told(text: str) -> str:
    return repr(printable(text[:60]))
