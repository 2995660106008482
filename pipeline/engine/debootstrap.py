"""A base image where none can be pulled: a Debian suite bootstrapped from packages and imported."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.engine.failures import engine_errors
from pipeline.engine.labels import LOCAL_REPOSITORY, ORIGIN
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker import DockerClient

    from pipeline.model.lane import Debootstrap

# /tmp is often mounted nodev or as a small tmpfs; a root file system needs neither.
_SCRATCH = Path("/var/tmp")  # noqa: S108


def local_tag(recipe: Debootstrap) -> str:
    """The name that the bootstrapped image gets: equal recipes share it."""
    if not recipe.include:
        return f"{LOCAL_REPOSITORY}/debian:{recipe.suite}"
    packages = hashlib.sha256(",".join(sorted(recipe.include)).encode()).hexdigest()[:8]
    return f"{LOCAL_REPOSITORY}/debian:{recipe.suite}-{packages}"


def bootstrap(client: DockerClient, recipe: Debootstrap, progress: Callable[[str], None]) -> str:
    """Make the image and return its tag; ``InfrastructureError`` without root, the tool, or its packages."""
    _check_possible(recipe)
    folder = Path(tempfile.mkdtemp(prefix="cubingate-debootstrap-", dir=_SCRATCH))
    try:
        root, archive = folder / "root", folder / "root.tar"
        # Its own mount namespace: should it die half-way, the /proc that it mounted inside goes with it.
        _run(
            "debootstrap", ["unshare", "--mount", "debootstrap", *_arguments(recipe), recipe.suite, str(root)], progress
        )
        shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
        _run("tar", ["tar", "--numeric-owner", "-C", str(root), "-cf", str(archive), "."], progress)
        return _import(client, recipe, archive)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_possible(recipe: Debootstrap) -> None:
    what = f"cannot bootstrap Debian {recipe.suite} as a base image"
    if shutil.which("debootstrap") is None:
        raise InfrastructureError(f"{what}: no debootstrap", remedy="apt-get install debootstrap")
    if os.geteuid() != 0:
        raise InfrastructureError(f"{what}: debootstrap needs root", remedy="run once as root, or pull the image")


def _arguments(recipe: Debootstrap) -> list[str]:
    include = [f"--include={','.join(recipe.include)}"] if recipe.include else []
    return ["--variant=minbase", *include]


def _run(tool: str, command: list[str], progress: Callable[[str], None]) -> None:
    """Run a tool to its end, each line of its output to ``progress``; it does not outlive an interruption."""
    last = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        try:
            for line in process.stdout or ():
                last = line.strip() or last
                progress(line.rstrip())
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise InfrastructureError(f"{tool} ended with status {process.returncode}: {last}")


def _import(client: DockerClient, recipe: Debootstrap, archive: Path) -> str:
    tag = local_tag(recipe)
    repository, _, version = tag.rpartition(":")
    # No lane's label: what others build from or run in this image would inherit it, and `clean` take it for ours.
    changes = [f"LABEL {ORIGIN}=debootstrap", 'CMD ["/bin/sh"]']
    with engine_errors(f"importing {tag}"):
        client.api.import_image(str(archive), repository=repository, tag=version, changes=changes)
    return tag
