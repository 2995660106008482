"""A small repository of somebody else's: lanes that are quick, and the workflow that ``cubingate workflow`` renders."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from pipeline.digest import file_sha256
from tests.e2e.street import Street, write_matrix
from tests.fixture_server.builder import NAME, static_cpu_server
from tests.workflow_runs.github import OWNER_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Json = dict[str, Any]
WHO = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")


@dataclass(frozen=True, slots=True)
class Repository:
    """``folder`` is the checkout, ``dist`` the publish folder outside of it, ``kind`` that of its workflow."""

    folder: Path
    dist: Path
    kind: str = "release"

    def cubingate(self, *arguments: str) -> str:
        """Run the command in the checkout; what it printed. Its own leavings are no part of the repository."""
        done = Street(self.folder).cubingate(*arguments)
        assert done.returncode == 0, done.stderr
        shutil.rmtree(self.folder / "home")
        return done.stdout

    @property
    def workflow(self) -> Path:
        """The workflow's file."""
        return self.folder / ".github" / "workflows" / f"{self.kind}.yml"

    def read_workflow(self) -> Json:
        """The workflow, to be edited."""
        content: dict[Any, Any] = yaml.safe_load(self.workflow.read_text(encoding="utf-8"))
        # YAML 1.1 reads the key `on` as a truth value.
        return {"on" if name is True else name: value for name, value in content.items()}

    def write_workflow(self, content: Json) -> None:
        """Put an edited workflow in its place."""
        self.workflow.write_text(yaml.safe_dump(content, sort_keys=False, width=10_000), encoding="utf-8")

    def commit(self) -> None:
        """Commit all of it."""
        remote = ["remote", "add", "origin", f"https://github.com/{OWNER_NAME}.git"]
        for words in (["init", "-q"], remote, ["add", "-A", "-f"], [*WHO, "commit", "-qm", "all"]):
            subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True)


def lane(name: str, *, version: str = "1.0", **more: Any) -> Json:
    """A lane of the fixture server, in a bundle of its own."""
    return {"id": name, "bundle": {"name": name, "version": version}, "source": name} | more


def bundle(folder: Path, made: Json, files: Mapping[str, Path]) -> Json:
    """A prebuilt bundle in ``folder`` for lane ``made``, as an entry of ``sources``."""
    top = f"{made['bundle']['name']}-{made['bundle']['version']}"
    file = folder / f"{top}-linux-x86_64.tar.gz"
    with tarfile.open(file, "w:gz", compresslevel=1) as tar:
        for name, path in files.items():
            tar.add(path, f"{top}/{name}")
    return {"file": file.name, "sha256": file_sha256(file)}


def make(
    folder: Path,
    lanes: Sequence[Json],
    sections: Json,
    more: Mapping[str, dict[str, Path]],
    *,
    kind: str = "release",
) -> Repository:
    """A repository of these lanes that publishes to a folder, with its workflow.

    Every lane's bundle holds the fixture server and what ``more`` adds to it.
    """
    made = Repository(folder / "repository", folder / "published" / "dist", kind)
    made.workflow.parent.mkdir(parents=True)
    publishers = {"dist": {"kind": "directory", "location": str(made.dist)}}
    server = {f"bin/{NAME}": static_cpu_server()}
    prebuilt = {each["id"]: bundle(made.folder, each, server | more.get(each["id"], {})) for each in lanes}
    sources = {"sources": prebuilt | sections.get("sources", {})}
    write_matrix(made.folder, list(lanes), publishers=publishers, **sections | sources)
    made.cubingate("workflow", "--kind", kind, "--output", str(made.workflow))
    return made


def old_release(folder: Path) -> Path:
    """The release before, as it was published."""
    made = make(folder, [lane("good", version="0.9")], {}, {})
    made.cubingate("run")
    made.cubingate("publish")
    return made.dist
