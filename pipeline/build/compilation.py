"""One source lane in a container: base image, source, Dockerfile, build, collected files, bundle."""

from __future__ import annotations

import json
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.build.diagnosis import diagnose
from pipeline.build.disk import check_disk
from pipeline.build.log import BuildLog
from pipeline.build.pack import FORMAT, pack
from pipeline.build.recipe import Ingredients, forget, read_built, write_built
from pipeline.build.render import RenderedDockerfile, cmake_architectures, render_dockerfile
from pipeline.build.source import describe, fetch_tree, source_digest
from pipeline.digest import file_sha256
from pipeline.engine.buildkit import BuildRequest, BuildStepFailed
from pipeline.engine.context import BuildContext
from pipeline.engine.labels import BUILD_REPOSITORY
from pipeline.errors import InfrastructureError, UsageError
from pipeline.model.artifact import Artifact
from pipeline.model.document import document

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.build.settings import BuildSettings, Network
    from pipeline.engine.base_image import ReadyImage
    from pipeline.engine.docker import DockerEngine
    from pipeline.model.lane import BuildSource, Lane


class Compilation:
    """What one build needs, together; ``artifact`` is the build."""

    def __init__(
        self, lane: Lane, source: BuildSource, engine: DockerEngine, settings: BuildSettings, state: Path
    ) -> None:
        if lane.recipe is None or lane.base_image is None:
            raise UsageError(f"{lane.id}: a lane that is compiled needs a recipe and a base image")
        self._lane = lane
        self._source = source
        self._recipe = lane.recipe
        self._base_image = lane.base_image
        self._engine = engine
        self._settings = settings
        self._state = state
        self._folder = state / "lanes" / lane.id

    def artifact(self, progress: Callable[[str], None]) -> Artifact:
        """The bundle: the one on disk if nothing changed, else a new one."""
        self._check_platform()
        base = self._engine.ensure(self._base_image, progress)
        rendered = render_dockerfile(self._lane, self._recipe, base.reference, self._settings.resources)
        ingredients = self._ingredients(base, rendered)
        earlier = read_built(self._folder, self._lane.id, ingredients.digest)
        if earlier is not None:
            return earlier
        check_disk(self._lane, self._state, self._engine)
        forget(self._folder)
        with BuildLog(self._folder / "logs" / "build.log", progress) as log:
            log.keep("Dockerfile", rendered.text)
            return self._build(base, rendered, ingredients, log)

    def _check_platform(self) -> None:
        platform = self._engine.facts().platform
        if platform != self._lane.platform.value:
            raise InfrastructureError(
                f"{self._lane.id}: the lane is for {self._lane.platform}, the container engine runs on {platform}",
                remedy="build it on a machine of that platform",
            )

    def _ingredients(self, base: ReadyImage, rendered: RenderedDockerfile) -> Ingredients:
        return Ingredients(
            asset=self._lane.asset_name,
            source=source_digest(self._source),
            dockerfile=rendered.text,
            base=base.identity,
            pack_format=FORMAT,
            source_date_epoch=self._settings.source_date_epoch,
            facts=json.dumps(self._facts(base, rendered), sort_keys=True),
        )

    def _build(
        self, base: ReadyImage, rendered: RenderedDockerfile, ingredients: Ingredients, log: BuildLog
    ) -> Artifact:
        cache = self._state / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=self._state) as scratch:
            tree = fetch_tree(self._source, Path(scratch), cache, self._settings.network, log)
            collected = Path(scratch) / "collected"
            self._compile(rendered, tree, ingredients.digest, collected, log)
            return self._pack(collected, base, rendered, ingredients)

    def _compile(
        self, rendered: RenderedDockerfile, tree: Path, recipe_digest: str, collected: Path, log: BuildLog
    ) -> None:
        # A name of its own, so that two runs at once do not take each other's result away.
        tag = f"{BUILD_REPOSITORY}:{recipe_digest[:16]}-{uuid.uuid4().hex[:8]}"
        context = BuildContext(rendered.text, private_files(self._settings.network), {"source": tree})
        request = BuildRequest(lane=self._lane.id, tag=tag, context=context, arguments=self._arguments())
        try:
            try:
                self._engine.build(request, log)
            except BuildStepFailed as failure:
                raise diagnose(self._lane, failure, log.path) from failure
            collected.mkdir()
            for part in ("bundle", "facts"):
                self._engine.copy_out(tag, f"/{part}", collected / part, lane=self._lane.id)
        finally:
            self._engine.remove_image(tag)

    def _arguments(self) -> dict[str, str]:
        jobs = {"JOBS": str(self._settings.jobs)} if self._settings.jobs else {}
        return {"SOURCE_DATE_EPOCH": str(self._settings.source_date_epoch), **jobs, **self._settings.network.proxies}

    def _pack(
        self, collected: Path, base: ReadyImage, rendered: RenderedDockerfile, ingredients: Ingredients
    ) -> Artifact:
        facts = {**self._facts(base, rendered), **self._observed(collected / "facts")}
        bundle = collected / "bundle"
        (bundle / "bundle.json").write_text(document("bundle", facts) + "\n", encoding="utf-8")
        place = self._folder / ingredients.asset
        epoch = self._settings.source_date_epoch
        pack(bundle, place, top=self._lane.asset_name.removesuffix(".tar.gz"), source_date_epoch=epoch)
        size = place.stat().st_size
        artifact = Artifact(self._lane.id, place, file_sha256(place), size, ingredients.digest)
        write_built(self._folder, artifact, facts)
        return artifact

    def _facts(self, base: ReadyImage, rendered: RenderedDockerfile) -> dict[str, Any]:
        """What ``bundle.json`` declares, known before the build."""
        lane = self._lane
        return {
            "lane": lane.id,
            "bundle": {"name": lane.bundle.name, "version": lane.bundle.version},
            "flavour": lane.flavour.value,
            "platform": lane.platform.value,
            "toolkit": str(lane.toolkit) if lane.toolkit else None,
            "toolkit_origin": lane.toolkit_origin.value if lane.toolkit_origin else None,
            "archs": cmake_architectures(lane.archs).split(";") if lane.archs else [],
            "compression": lane.compression.value if lane.compression else None,
            "definitions": rendered.definitions,
            "base_image": {"reference": base.reference, "digest": base.digest, "origin": base.origin.value},
            "source": describe(self._source),
        }

    def _observed(self, facts: Path) -> dict[str, Any]:
        """What the compilers said of themselves in the container."""
        told = {path.name: path.read_text(encoding="utf-8").strip() for path in facts.iterdir()}
        return {"nvcc": told.get("nvcc"), "compiler": told.get("compiler")}


def private_files(network: Network) -> dict[str, bytes]:
    """What the build may see and the result must not hold, mounted at ``/run/cubingate`` while packages install.

    ``InfrastructureError`` when the certificates cannot be read.
    """
    settings = f"[global]\nindex-url = {network.index_url}\n" if network.index_url else ""
    files = {"private/pip.conf": settings.encode()}
    if network.ca_bundle is not None:
        try:
            files["private/ca.crt"] = network.ca_bundle.read_bytes()
        except OSError as error:
            raise InfrastructureError(f"cannot read the certificates {network.ca_bundle}: {error.strerror}") from error
    return files
