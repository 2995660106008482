"""A local stand-in for ``nvidia/cuda:*-devel-*``, made of NVIDIA's wheels, where the real image cannot be pulled.

It is labelled, so everything that is built on it says ``stand-in``.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.build.compilation import private_files
from pipeline.build.render import render_dockerfile
from pipeline.engine.buildkit import BuildRequest
from pipeline.engine.context import BuildContext
from pipeline.engine.labels import STAND_IN
from pipeline.model.lane import BaseImage, ToolkitOrigin
from pipeline.model.versions import ToolkitVersion
from pipeline.resources import find_resources
from tests.build.lanes import BOOKWORM, RECIPE, cuda_source_lane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.build.settings import Network
    from pipeline.engine.docker import DockerEngine


@contextmanager
def stand_in_cuda(engine: DockerEngine, toolkit: str, network: Network) -> Iterator[BaseImage]:
    """An image of the name that NVIDIA gives its devel image of ``toolkit``; the name is gone afterwards.

    ``AssertionError`` when an image of that name is already there: the real one must not be replaced.
    """
    name = f"nvidia/cuda:{toolkit}-devel-debian12"
    assert not engine.client.images.list(name=name), f"{name} is there: test with it"
    lane = cuda_source_lane(Path(), toolkit=ToolkitVersion(toolkit), toolkit_origin=ToolkitOrigin.WHEELS)
    base = engine.ensure(BOOKWORM, _silent)
    dockerfile = render_dockerfile(lane, RECIPE, base.reference, find_resources()).text
    # The stages up to the toolkit, as the image that they are.
    toolkit_only = dockerfile.partition("FROM toolkit AS compile")[0]
    context = BuildContext(toolkit_only, private_files(network))
    request = BuildRequest(lane="stand-in", tag=name, context=context, labels={STAND_IN: "true"})
    try:
        engine.build(request, _silent)
        yield BaseImage("stand-in", name)
    finally:
        engine.remove_image(name)


def _silent(_line: str) -> None:
    """Nobody watches."""
