"""From a lane to its Dockerfile: jinja2 templates of ``dockerfiles/`` out of the parts in ``templates/docker/``."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound

from pipeline.errors import UsageError
from pipeline.model.arch import ArchKind
from pipeline.model.lane import Flavour, ToolkitOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.model.arch import TargetArch
    from pipeline.model.lane import BuildRecipe, Lane
    from pipeline.resources import Resources

# Letters that need no quoting in sh, and the two glob signs; with them a path cannot become anything else.
_GLOB = re.compile(r"[A-Za-z0-9_./+*?-]+")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?")
_DEFINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")

_FIRST_WHEEL_MAJOR = 13


@dataclass(frozen=True, slots=True)
class RenderedDockerfile:
    """The text, and the CMake definitions in it, as ``bundle.json`` records them."""

    text: str
    definitions: dict[str, str]


def render_dockerfile(lane: Lane, recipe: BuildRecipe, base: str, resources: Resources) -> RenderedDockerfile:
    """Render ``recipe.dockerfile`` for ``lane`` on the image ``base``.

    ``UsageError`` for a template that does not exist or is wrong, and for values that no Dockerfile should carry.
    """
    _check(lane, recipe, base)
    environment = Environment(
        loader=FileSystemLoader([*resources.dockerfiles, resources.templates / "docker"]),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 -- a Dockerfile is not HTML; values are checked and quoted for sh
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["sh"] = shlex.quote
    definitions: dict[str, str] = {}

    def cmake_definitions(*, compression: str) -> Mapping[str, str]:
        definitions.update(_definitions(lane, recipe, compression))
        return definitions

    try:
        text = environment.get_template(recipe.dockerfile).render(
            **_facts(lane, recipe, base), cmake_definitions=cmake_definitions
        )
    except TemplateNotFound as error:
        raise UsageError(f"there is no Dockerfile {error.name}", remedy=_known(resources)) from error
    except TemplateError as error:
        raise UsageError(f"{recipe.dockerfile}: {error}") from error
    return RenderedDockerfile(text, definitions)


def _facts(lane: Lane, recipe: BuildRecipe, base: str) -> dict[str, object]:
    cuda = lane.flavour is Flavour.CUDA
    return {
        "base": base,
        "cuda": cuda,
        "wheels": cuda and lane.toolkit_origin is ToolkitOrigin.WHEELS,
        "toolkit": str(lane.toolkit) if lane.toolkit else "",
        "toolkit_release": f"{lane.toolkit.major}.{lane.toolkit.minor}" if lane.toolkit else "",
        "toolkit_pin": _pin(lane),
        "packages": recipe.packages,
        "target": recipe.cmake_target,
        "install": recipe.install,
        "ship": recipe.ship,
    }


def _pin(lane: Lane) -> str:
    """The requirement of the metapackage: two numbers name a release's newest update."""
    if lane.toolkit is None:
        return ""
    return str(lane.toolkit) if len(lane.toolkit.parts) > 2 else f"{lane.toolkit}.*"


def cmake_architectures(archs: tuple[TargetArch, ...]) -> str:
    """The list in CMake's dialect: ``80-real;90-virtual``."""
    return ";".join(f"{arch.name}-{'real' if arch.kind is ArchKind.REAL else 'virtual'}" for arch in archs)


def _definitions(lane: Lane, recipe: BuildRecipe, compression: str) -> dict[str, str]:
    """What the lane decides, then what its recipe says; the lane's own facts cannot be defined away.

    ``compression`` is the cache entry through which the project passes nvcc's ``--compress-mode``, empty when it has
    none: then the flag is given directly.
    """
    decided: dict[str, str] = {}
    if lane.flavour is Flavour.CUDA:
        decided["CMAKE_CUDA_ARCHITECTURES"] = cmake_architectures(lane.archs)
        if lane.compression is not None and compression:
            decided[compression] = lane.compression.value
        elif lane.compression is not None:
            flags = recipe.defines.get("CMAKE_CUDA_FLAGS", "")
            decided["CMAKE_CUDA_FLAGS"] = f"{flags} --compress-mode={lane.compression}".strip()
    return {**recipe.defines, **decided}


def _check(lane: Lane, recipe: BuildRecipe, base: str) -> None:
    for name, value in recipe.defines.items():
        if not _DEFINE.fullmatch(name) or not value.isprintable():
            raise UsageError(f"{lane.id}: {name!r} is not a CMake cache entry with a value on one line")
    if not recipe.cmake_target.isprintable() or not _REFERENCE.fullmatch(base):
        raise UsageError(f"{lane.id}: {recipe.cmake_target!r} on {base!r} is not a target on an image")
    for path in (*recipe.install, *recipe.install.values(), *recipe.ship):
        if not _GLOB.fullmatch(path) or path.startswith("/") or ".." in path.split("/"):
            raise UsageError(f"{lane.id}: {path!r} is not a plain relative path in the build tree or the bundle")
    for package in recipe.packages:
        if not _PACKAGE.fullmatch(package):
            raise UsageError(f"{lane.id}: {package!r} is not the name of a Debian package")
    if not recipe.install:
        raise UsageError(f"{lane.id}: `install` names no file, so the bundle would be empty")
    wheels = lane.toolkit_origin is ToolkitOrigin.WHEELS and lane.toolkit is not None
    if wheels and lane.toolkit is not None and lane.toolkit.major < _FIRST_WHEEL_MAJOR:
        raise UsageError(
            f"{lane.id}: NVIDIA's wheels of CUDA {lane.toolkit} carry no nvcc driver",
            remedy="take the toolkit from a base image (nvidia/cuda:*-devel-*), or use 13.0 or later",
        )


def _known(resources: Resources) -> str:
    names = sorted(path.name for folder in resources.dockerfiles for path in folder.iterdir() if path.is_file())
    return f"known: {', '.join(names) or 'none'}"
