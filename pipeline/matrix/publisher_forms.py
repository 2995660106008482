"""The form of the section ``publishers``: one shape for each kind of destination."""

from __future__ import annotations

from pipeline.matrix.containers import Items, Key, Record, Variants
from pipeline.matrix.kinds import Choice, Flag, Text
from pipeline.matrix.sections import NAME, PATH, URL, WORD

_REPOSITORY = (
    r"(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
)
_PARTIAL = Key("partial", Flag(), "Publish approved lanes although others were refused (default false).")
PUBLISHER = Variants(
    "a publisher",
    (
        Record(
            "a directory",
            (
                Key("location", PATH, "Where: a directory, relative to the matrix file.", required=True),
                Key("kind", Choice(("directory",)), "What kind of destination it is.", required=True),
                _PARTIAL,
            ),
        ),
        Record(
            "a release on GitHub",
            (
                Key(
                    "repository",
                    Text("a repository", "owner/name", r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+"),
                    "Repository whose release is made.",
                    required=True,
                ),
                Key("kind", Choice(("github",)), "What kind of destination it is.", required=True),
                Key("tag", Text("a tag", "b11434", r"[^\s~^:?*\[\\]+"), "Tag of the release.", required=True),
                _PARTIAL,
            ),
        ),
        Record(
            "a Python index",
            (
                Key("upload", URL, "Address to which wheels are uploaded.", required=True),
                Key("kind", Choice(("python-index",)), "What kind of destination it is.", required=True),
                Key("simple", URL, "Address of the index's simple API, to read back from.", required=True),
                Key("insecure", Flag(), "Speak http to this index (default: only to a loopback address)."),
                _PARTIAL,
            ),
        ),
        Record(
            "a registry",
            (
                Key(
                    "image",
                    Text("a registry's repository", "ghcr.io/owner/name", _REPOSITORY),
                    "Registry and repository that artifacts and images are pushed to.",
                    required=True,
                ),
                Key("kind", Choice(("registry",)), "What kind of destination it is.", required=True),
                Key(
                    "base",
                    NAME,
                    "Entry of 'base_images', with its digest, that runtime images are on (default: the bundle alone).",
                ),
                Key(
                    "tags",
                    Items(Text("a tag", "{lane}", r"([A-Za-z0-9_.-]|\{lane\}|\{version\}){1,128}"), unique=True),
                    "Tags that move to the new images when all of them were read back; "
                    "{lane} and {version} are filled in.",
                ),
                Key("lead", NAME, "Id of the lane whose image gets the tags that do not name {lane}, such as latest."),
                Key("licenses", WORD, "SPDX expression of what is in the images."),
                Key("source", URL, "Address of the source (default: the lane's repository or download)."),
                Key("insecure", Flag(), "Speak http to this registry (default: only to a loopback address)."),
                _PARTIAL,
            ),
        ),
    ),
)
