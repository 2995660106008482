"""``cubingate pick``: which published asset fits this (or that) machine, and why the others do not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands.options import add_format, add_output, colored, emit, environment, terminal_width
from pipeline.errors import ExitStatus, NothingExamined, UsageError

if TYPE_CHECKING:
    import argparse

    from pipeline.pick import Host, HostGpu, Release
    from pipeline.policy import Policy

_COMPAT = "compat.json"
_CPU = "cpu"
_COLUMNS = 80
_SOURCES = "name a compat.json, a folder or an address"
_HOST_FORM = "write glibc=2.31,platform=aarch64, each part once"
_PLATFORMS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The source, and what is not to be read from this machine."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="compat.json, its folder or http(s) address, owner/name@tag of a GitHub release, or bundles",
    )
    parser.add_argument(
        "--target",
        metavar="SM@DRIVER",
        action="append",
        default=[],
        help="for this GPU instead of this machine's, as 80@535.288.01 (repeatable); cpu: for none",
    )
    parser.add_argument("--host", metavar="FLOOR", default="", help="glibc=2.31,platform=aarch64 instead of this one's")
    parser.add_argument(
        "--table",
        action="store_true",
        help="all assets with what they ask for, as release notes (Markdown); no machine",
    )
    add_format(parser)
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Choose and print: 0 when an asset fits, 1 when none does. A table says nothing of a machine, so that it is 0."""
    from pipeline.pick import choose

    if arguments.table:
        return _table(arguments)
    host = _host(arguments)
    choice = choose(_release(arguments.source), host)
    if arguments.format == "json":
        from pipeline.report.pick_json import pick_json

        emit(arguments, pick_json(choice))
    else:
        from pipeline.report.pick_text import pick_text

        width = terminal_width(arguments) or _COLUMNS
        emit(arguments, pick_text(choice, color=colored(arguments), width=width))
    return ExitStatus.PASS if choice.picked is not None else ExitStatus.REFUSED


def _table(arguments: argparse.Namespace) -> ExitStatus:
    from pipeline.report.compat_markdown import compat_markdown

    if arguments.target or arguments.host or arguments.format != "text":
        raise UsageError("--table is about no machine, and is Markdown", remedy="give it without the other options")
    emit(arguments, compat_markdown(_release(arguments.source)))
    return ExitStatus.PASS


def _release(source: str) -> Release:
    from pipeline.model.paths import printable
    from pipeline.pick.read import LARGEST, read_release

    path, told = Path(source), printable(source)
    compat = path / _COMPAT if path.is_dir() else path
    if compat.is_file() and (path.is_dir() or _is_document(compat)):
        with compat.open("rb") as file:
            return read_release(file.read(LARGEST + 1), told)
    if path.is_file() or path.is_dir():
        from pipeline.pick.bundles import audited

        files = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
        return audited(files, told, _policy())
    if path.exists():
        raise UsageError(f"{told} is neither a file nor a folder", remedy=_SOURCES)  # a device would never end
    return read_release(_downloaded(source, LARGEST), told)


def _downloaded(source: str, largest: int) -> bytes:
    """From its public address, and where GitHub shows nothing to strangers by its API, if there is a token."""
    from pipeline.commands.build_settings import ca_bundle
    from pipeline.model.paths import printable
    from pipeline.publishers.github_api import API
    from pipeline.publishers.private_release import PrivateReleases
    from pipeline.publishers.released import WEB, address_of, release_of, released_compat

    variables = environment()
    web = variables.get("GITHUB_SERVER_URL") or WEB
    address, release = address_of(source, web), release_of(source, web)
    if address is None:
        raise UsageError(f"{printable(source)} does not exist", remedy=_SOURCES)
    token = variables.get("GITHUB_TOKEN") or variables.get("GH_TOKEN")
    api = variables.get("GITHUB_API_URL") or (API if web == WEB else "")
    certificates = ca_bundle(variables)
    try:
        return released_compat(address, largest=largest, ca_bundle=certificates)
    except NothingExamined:
        # A token is for one server: it is not shown to its API because a page of another one was named.
        if not token or not api or release is None or release.web != web.rstrip("/"):
            raise
    return PrivateReleases(api, token, certificates).compat(release.repository, release.tag, largest=largest)


def _is_document(path: Path) -> bool:
    """Whether a file is meant as a ``compat.json``, also a damaged one."""
    if path.suffix == ".json":
        return True
    with path.open("rb") as file:
        return file.read(1) == b"{"


@cache
def _policy() -> Policy:
    from pipeline.policy import load_policy

    return load_policy()


def _host(arguments: argparse.Namespace) -> Host:
    from pipeline.pick.here import PROC, gpus_here, host_alone

    host = _with_floor(host_alone(), arguments.host)
    if not arguments.target:
        gpus, notes = gpus_here(Path(PROC), _policy)
        return replace(host, gpus=gpus, notes=notes)
    named = [target for target in arguments.target if target != _CPU]
    if named and len(named) != len(arguments.target):
        raise UsageError("--target cpu is for a machine without a GPU", remedy="give it alone")
    return replace(host, gpus=tuple(_gpu(target) for target in named))


def _gpu(text: str) -> HostGpu:
    """``80@535.288.01``, or ``80@535`` for that branch's first driver."""
    from pipeline.pick import HostGpu

    target = _policy().parse_target(text)
    return HostGpu(target.sm, target.driver)


def _with_floor(host: Host, text: str) -> Host:
    from pipeline.model.target import Platform
    from pipeline.model.versions import GlibcVersion

    parts = [part.strip().partition("=") for part in text.split(",")] if text else []
    if len({key for key, _, _ in parts}) != len(parts):
        raise UsageError(f"--host {text}: a part is given twice", remedy=_HOST_FORM)
    for key, _, value in parts:
        if key == "platform" and value in _PLATFORMS:
            host = replace(host, platform=Platform(_PLATFORMS[value]))
        elif key == "glibc":
            try:
                host = replace(host, glibc=GlibcVersion.parse(value))
            except ValueError as error:
                raise UsageError(f"--host {text}: {error}", remedy=_HOST_FORM) from None
        else:
            raise UsageError(f"{key}={value} in --host {text} is nothing that assets differ in", remedy=_HOST_FORM)
    return host
