"""The form of matrix.yaml, defined once: its JSON Schema, its validation and its documentation all come from here."""

from __future__ import annotations

from typing import Any

from pipeline.matrix.containers import Items, Key, Named, Record, Shared
from pipeline.matrix.jit import JIT_SOURCE
from pipeline.matrix.kinds import Choice, Flag, Integer, Json, Kind, Text
from pipeline.matrix.publisher_forms import PUBLISHER
from pipeline.matrix.sections import (
    ARCHS,
    BASE_IMAGE,
    BUNDLE,
    CHECK,
    DRIVER,
    GLIBC,
    GLIBCXX,
    LIBRARY,
    LIBRARY_PATTERN,
    LOSS,
    NAME,
    RECIPE,
    SIZE,
    SMOKE,
    SOURCE,
    TARGET,
    TARGET_DEFINITION,
    TOOLKIT,
    WAIVER,
    WORD,
)
from pipeline.matrix.terms import EVIDENCE
from pipeline.model.cpu import CpuLevel
from pipeline.model.lane import CompressionMode, Flavour, Platform, ToolkitOrigin

SETTINGS: tuple[Key, ...] = (
    Key(
        "id",
        Text("a lane id, safe as a file name", "cuda13.0-sm90", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"),
        "Overrides the id made from flavour, toolkit and architectures.",
    ),
    Key("flavour", Choice(tuple(Flavour)), "Whether the lane carries device code."),
    Key("platform", Choice(tuple(Platform)), "Host instruction set (default x86_64)."),
    Key("bundle", BUNDLE, "Name and version where they differ from the file's."),
    Key("source", NAME, "Name of an entry of 'sources'."),
    Key("recipe", NAME, "Name of an entry of 'recipes'."),
    Key("base_image", NAME, "Name of an entry of 'base_images'."),
    Key("toolkit", TOOLKIT, "CUDA toolkit, in quotes."),
    Key("toolkit_from", Choice(tuple(ToolkitOrigin)), "Where the compiler comes from (default base-image)."),
    Key(
        "archs",
        ARCHS,
        "Architectures: CMake's (80-real;90a-virtual;120, all, all-major), torch's (8.0;12.0+PTX) or -gencode.",
    ),
    Key("compression", Choice(tuple(CompressionMode)), "nvcc --compress-mode."),
    Key("driver_floor", DRIVER, "Lowest driver that the lane promises to run on."),
    Key("glibc", GLIBC, "Newest glibc that the bundle may need."),
    Key("glibcxx", GLIBCXX, "Newest GLIBCXX symbol version (libstdc++) that the bundle may need."),
    Key("cpu", Choice(tuple(map(str, CpuLevel))), "Highest x86-64 level that the bundle may need."),
    Key("size_budget", SIZE, "Largest size of the asset."),
    Key("host_libraries", Items(LIBRARY, unique=True), "Shared libraries that the host provides, not the bundle."),
    Key(
        "by_design",
        Items(LIBRARY_PATTERN, unique=True),
        "Libraries (* and ? allowed) that choose between architectures themselves: what they lack is not counted.",
    ),
    Key(
        "never_by_design",
        Items(LIBRARY_PATTERN, unique=True),
        "Libraries (* and ? allowed) in which every unit must serve every target.",
    ),
    Key("previous", NAME, "Name of a prebuilt entry of 'sources', the bundle released before: check 'diff' compares."),
    Key(
        "may_lose",
        Items(LOSS, unique=True),
        "Rules of that comparison whose losses are meant (cubingate diff --allow).",
    ),
    Key("targets", Items(TARGET, unique=True), "Names of 'targets', or SM@DRIVER."),
    Key("smoke", NAME, "Name of an entry of 'smoke'."),
    Key("jit_sources", Items(NAME, unique=True), "Names of 'jit_sources': what users' machines compile."),
    Key(
        "required",
        Items(CHECK, unique=True),
        "Check ids instead of those that flavour and targets ask for; never empty.",
    ),
    Key("on_demand", Flag(), "Build the lane only when --lane names it (default false)."),
    Key("runner", Items(WORD, least=1, unique=True), "Labels of the CI runner that builds the lane."),
)

_SETTINGS = Shared("settings", Record("lane settings", SETTINGS))
_SOME = Shared("combination", Record("a combination", SETTINGS, least=1))


def _matrix() -> Record:
    axes = tuple(
        Key(key.name, Items(key.kind, least=1), f"Axis: {key.description}") for key in SETTINGS if key.name != "id"
    )
    return Record(
        "the matrix",
        (
            *axes,
            Key("exclude", Items(_SOME), "Combinations to drop: those in which every given key has that value."),
            Key(
                "include",
                Items(_SOME),
                "Applied after exclude: adds to combinations it fits, else is a lane of its own.",
            ),
        ),
    )


MATRIX_FILE = Record(
    "matrix.yaml",
    (
        Key("version", Integer("1, the version of this format", 1, 1), "Version of this format.", required=True),
        Key("bundle", BUNDLE, "What is released.", required=True),
        Key("sources", Named("sources", SOURCE), "Where source trees and prebuilt bundles come from.", required=True),
        Key("base_images", Named("base images", BASE_IMAGE), "Images to build and serve in."),
        Key("recipes", Named("recipes", RECIPE), "How a source becomes a bundle."),
        Key("smoke", Named("smoke settings", SMOKE), "How bundles are served for their one token.", required=True),
        Key("targets", Named("targets", TARGET_DEFINITION), "GPUs with drivers that lanes promise to run on."),
        Key("jit_sources", Named("JIT sources", JIT_SOURCE), "Kernel sources that the product compiles at run time."),
        Key("defaults", _SETTINGS, "Settings of every lane that does not say otherwise."),
        Key(
            "flavours",
            Record(
                "flavours",
                tuple(Key(word, _SETTINGS, f"Settings of {word} lanes, before 'defaults'.") for word in Flavour),
            ),
            "Settings by flavour.",
        ),
        Key(
            "matrix",
            Shared("matrix", _matrix()),
            "Lanes, with the semantics of a GitHub Actions matrix.",
            required=True,
        ),
        Key("waivers", Items(WAIVER), "Named exceptions with an end."),
        Key("evidence", EVIDENCE, "Which evidence counts."),
        Key("publishers", Named("publishers", PUBLISHER), "Where approved bundles go."),
    ),
)


def json_schema() -> Json:
    """The JSON Schema of matrix.yaml, draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cubingate matrix.yaml",
        "description": "Lanes of a release of CUDA LLM-serving bundles, and what they promise.",
        **MATRIX_FILE.json_schema(),
        "$defs": {shared.name: _definition(shared.kind) for shared in (_SETTINGS, _SOME, Shared("matrix", _matrix()))},
    }


def _definition(kind: Kind) -> dict[str, Any]:
    return kind.json_schema()
