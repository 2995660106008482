"""GitHub Releases: a draft, filled, read back and compared, and only then made public; never a public file overwritten.

Killed at any moment the public state is the old one or the complete new one. Everything that a later attempt needs to
know is on GitHub: it finds the draft by its mark, keeps what reads back as approved and sends the rest.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, Refused, UsageError
from pipeline.model.paths import printable
from pipeline.publishers.github_api import Github, Refusal, refused
from pipeline.publishers.github_limits import load_limits
from pipeline.publishers.released import printable_address
from pipeline.publishers.staging import COMPATIBILITY, LISTS, check_names, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import Approved
    from pipeline.publishers.github_api import Asset, Release
    from pipeline.publishers.staging import ReleaseFile

_MARK = "<!-- cubingate: this draft is filled by cubingate publish; leave it alone -->"
_ATTEMPTS = 3
_KEPT = re.compile(r"[A-Za-z0-9_+-]([A-Za-z0-9._+-]*[A-Za-z0-9_+-])?", re.ASCII)
"""Names that stay what they are. Source: GitHub's REST documentation, "Upload a release asset"."""


@dataclass(frozen=True, slots=True)
class GithubReleases:
    """Publishes under one tag of one repository; a new tag points at ``commit``, ``None`` means HEAD."""

    github: Github
    tag: str
    commit: str | None

    def preflight(self) -> None:
        """``UsageError`` when the token may not write, the tag is another commit's, or somebody else began its release.

        ``InfrastructureError`` when GitHub cannot be asked.
        """
        try:
            if not self.github.may_push():
                raise UsageError("the token may not write to the repository", remedy="it needs contents: write")
            if self.github.public_release(self.tag) is None:
                self._check_tag()
                self._draft()
        except Refusal as refusal:
            raise refused(refusal) from refusal

    @property
    def staging(self) -> Path:
        """Where bundles are copied and hashed before they are sent."""
        return Path(tempfile.gettempdir())

    def compare(self, approved: Sequence[Approved]) -> None:
        """``UsageError`` for what GitHub would not take as a release: names, number of files, size of one."""
        names = [item.artifact.path.name for item in approved]
        check_names(names)
        changed = [name for name in names if not _KEPT.fullmatch(name)]
        if changed:
            raise UsageError(f"GitHub would rename {printable(changed[0])}", remedy="rename the source's file")
        limits = load_limits()
        if len(approved) + len(LISTS) > limits.files:
            raise UsageError(
                f"{len(approved)} bundles and {len(LISTS)} lists are more than the {limits.files} files of a release",
                remedy="publish them under several tags",
            )
        large = [item.artifact.path.name for item in approved if item.artifact.size > limits.bytes]
        if large:
            raise UsageError(
                f"{', '.join(large)}: a release takes files of up to {limits.bytes} bytes",
                remedy="ship fewer architectures in one bundle, or publish to a registry",
            )

    def _check_tag(self) -> None:
        """A tag that is there stays where it is, whatever commit a release of it names."""
        commit = self.github.tag_commit(self.tag) if self.commit is not None else None
        if commit is not None and commit != self.commit:
            raise UsageError(
                f"the tag {self.tag} is at commit {commit[:12]}, and what is released is {str(self.commit)[:12]}",
                remedy="choose another tag, or release from that commit",
            )

    def publish(self, approved: Sequence[Approved]) -> str:
        """Publish these bundles as the release of the tag, and return its address.

        ``Refused`` when there is none, ``UsageError`` when the tag is public with other files, ``InfrastructureError``
        when GitHub fails or does not read back what was sent; the public state is then what it was.
        """
        self.compare(approved)
        if not approved:
            raise Refused("no lane is approved: there is nothing to release")
        with tempfile.TemporaryDirectory(prefix="cubingate-") as scratch:
            try:
                files = stage(Path(scratch) / "release", approved)
                return printable_address(self._released(files))
            except Refusal as refusal:
                raise refused(refusal) from refusal
            except OSError as error:
                raise InfrastructureError.of(error) from error

    def _released(self, files: Sequence[ReleaseFile]) -> str:
        address = self._confirmed_public(files)
        if address is not None:
            return address
        draft = self._draft() or self._begun()
        self._fill(draft, files)
        self._confirm(draft, files, InfrastructureError, "the draft does not read back as it was sent")
        # Another publication may have been faster, with a draft of its own.
        return self._confirmed_public(files) or self._made_public(draft, _notes(files)).html_url

    def _confirmed_public(self, files: Sequence[ReleaseFile]) -> str | None:
        """Where the tag is public with these files, ``None`` where it is not; ``UsageError`` for others."""
        public = self.github.public_release(self.tag)
        if public is None:
            return None
        self._confirm(public, files, UsageError, f"{self.tag} is published with other files, and is never changed")
        return public.html_url

    def _begun(self) -> Release:
        """A new draft, or that of a publication which began at the same time."""
        created = self.github.create_draft(self.tag, self.tag, _MARK, self.commit)
        return self._draft() or created

    def _made_public(self, draft: Release, notes: str) -> Release:
        try:
            return self.github.make_public(draft, notes)
        except Refusal as refusal:
            if refusal.status != 422:
                raise
            # Such as a tag of a deleted immutable release, which GitHub gives to no other.
            raise UsageError(
                f"GitHub does not let {self.tag} become public: {refusal}", remedy="choose another tag"
            ) from refusal

    def _draft(self) -> Release | None:
        """Our draft of the tag; ``UsageError`` when somebody else has one."""
        drafts = [release for release in self.github.releases() if release.draft and release.tag == self.tag]
        ours = [release for release in drafts if _MARK in release.body]
        if len(ours) != len(drafts):
            raise UsageError(
                f"{self.tag} has a draft that cubingate did not make", remedy="delete it, or choose another tag"
            )
        return ours[-1] if ours else None  # the oldest: two that began together settle on one

    def _fill(self, draft: Release, files: Sequence[ReleaseFile]) -> None:
        """Send what is not there yet; an asset that is something else is deleted first. The draft is ours alone."""
        wanted = {file.name: file for file in files}
        for asset in self.github.assets(draft):
            file = wanted.get(asset.name)
            if file is not None and self._is(asset, file):
                del wanted[asset.name]
            else:
                self._delete(draft, asset)
        for file in wanted.values():
            self._send(draft, file)

    def _send(self, draft: Release, file: ReleaseFile) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                self.github.upload(draft, file)
            except (Refusal, InfrastructureError) as error:
                # Too early, too late or twice: what GitHub has now says which.
                if self._arrived(draft, file):
                    return
                final = isinstance(error, Refusal) and error.status < 500 and error.status != 422
                if final or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    def _arrived(self, draft: Release, file: ReleaseFile) -> bool:
        """Whether an upload whose answer was no, or was lost, is there; what is there of it otherwise is deleted."""
        for asset in self.github.assets(draft):
            if asset.name == file.name:
                if self._is(asset, file):
                    return True
                self._delete(draft, asset)
        return False

    def _delete(self, draft: Release, asset: Asset) -> None:
        """Another publication may have made the draft public meanwhile, and nothing is taken from a public release."""
        if not self.github.release(draft.id).draft:
            raise UsageError(f"{self.tag} was published by another publication while this one went on")
        self.github.delete(asset)

    def _is(self, asset: Asset, file: ReleaseFile) -> bool:
        return asset.complete and asset.size == file.size and self.github.digest(asset) == file.sha256

    def _confirm(
        self, release: Release, files: Sequence[ReleaseFile], error: type[UsageError | InfrastructureError], words: str
    ) -> None:
        """Download everything and compare; nothing but these files may be there."""
        there = self.github.assets(release)
        by_name = {asset.name: asset for asset in there}
        if len(there) != len(files) or any(file.name not in by_name for file in files):
            raise error(f"{words}: it has {', '.join(sorted(by_name)) or 'no files'}")
        wrong = [file.name for file in files if not self._is(by_name[file.name], file)]
        if wrong:
            raise error(f"{words}: {', '.join(wrong)}")


def _notes(files: Sequence[ReleaseFile]) -> str:
    """The table of what fits which machine."""
    (table,) = (file.path for file in files if file.name == COMPATIBILITY)
    return table.read_text(encoding="utf-8")
