"""A git source: fetched once into a bare repository in the cache, checked out at exactly the pinned commit."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput, InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.build.settings import Network
    from pipeline.model.lane import GitSource

# Set inside hooks and worktrees; they would lead git to another repository than ours.
_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")


def check_out(
    source: GitSource, destination: Path, cache: Path, network: Network, progress: Callable[[str], None]
) -> None:
    """Put the tree of ``source.commit`` into the new folder ``destination``.

    ``CorruptInput`` when the ref is not (any more) that commit, ``InfrastructureError`` when git or the network fails.
    """
    repository = cache / "git" / hashlib.sha256(source.url.encode()).hexdigest()[:32]
    git = _Git(repository, network)
    if not repository.is_dir():
        repository.parent.mkdir(parents=True, exist_ok=True)
        git.run("init", "--quiet", "--bare")
    if not git.answers("cat-file", "-e", f"{source.commit}^{{commit}}"):
        progress(f"fetching {source.ref} of {source.url}")
        git.run("fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", source.url, source.ref)
        observed = git.run("rev-parse", "FETCH_HEAD^{commit}").strip()
        if observed != source.commit:
            raise CorruptInput(
                f"{source.ref} of {source.url}: declared commit {source.commit}, observed {observed}",
                remedy="pin the commit that you reviewed, by a tag that does not move",
            )
    destination.mkdir(parents=True)
    git.run("--work-tree", str(destination), "checkout", "--quiet", "--force", source.commit, "--", ".")


class _Git:
    """git without the user's configuration, prompts or hooks."""

    def __init__(self, repository: Path, network: Network) -> None:
        # Through env(1): the process's own environment is not this module's to read.
        self._command = [
            "env",
            *(word for name in _INHERITED for word in ("-u", name)),
            *(f"{name}={value}" for name, value in network.proxies.items()),
            "GIT_TERMINAL_PROMPT=0",
            "GIT_CONFIG_NOSYSTEM=1",
            f"GIT_CONFIG_GLOBAL={os.devnull}",
            *([f"GIT_SSL_CAINFO={network.ca_bundle}"] if network.ca_bundle else []),
            "git",
            "--git-dir",
            str(repository),
        ]

    def _call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self._command, *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise InfrastructureError("git cannot be run", remedy="apt-get install git") from error

    def answers(self, *arguments: str) -> bool:
        """Whether the command succeeds."""
        return self._call(*arguments).returncode == 0

    def run(self, *arguments: str) -> str:
        """What the command prints; ``InfrastructureError`` with git's own last words otherwise."""
        done = self._call(*arguments)
        if done.returncode:
            words = done.stderr.strip().splitlines() or ["no reason given"]
            raise InfrastructureError(f"git {arguments[0]}: {words[-1]}")
        return done.stdout
