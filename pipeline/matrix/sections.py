"""The form of each named section of matrix.yaml: bundle, sources, base images, recipes, smoke, targets, waivers."""

from __future__ import annotations

from pipeline.matrix.containers import Items, Key, Named, Record, Variants
from pipeline.matrix.kinds import Choice, Flag, Integer, Seconds, Text
from pipeline.matrix.presets import PRESETS
from pipeline.model.lane import GENERATED_MODELS
from pipeline.model.size import SIZE_PATTERN

NAME = Text("a name of letters, digits, dots, underscores and dashes", "bookworm", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
WORD = Text("text", "…")
URL = Text("an http or https address", "https://example.org/bundle.tar.gz", r"https?://[^\s]+")
SHA256 = Text("64 lower-case hexadecimal digits", 64 * "0", r"[0-9a-f]{64}")
COMMIT = Text("a full commit id, 40 lower-case hexadecimal digits", 40 * "0", r"[0-9a-f]{40}")
PATH = Text("a path", "vendor/llama.cpp", r"[^\0\r\n]+")
INSIDE = Text("a relative path without '..'", "bin/llama-server", r"(?!/)(?!\.\.(/|$))(?!.*/\.\.(/|$))[^\0\r\n]+")
TOOLKIT = Text("a CUDA toolkit version", "13.0.2", r"[1-9][0-9]?\.[0-9]{1,2}(\.[0-9]{1,3})?")
DRIVER = Text("a driver version or branch", "535.288.01", r"[1-9][0-9]{2}(\.[0-9]{1,3}){0,2}")
GLIBC = Text("a glibc version", "2.31", r"2\.[0-9]{1,3}")
GLIBCXX = Text("a libstdc++ symbol version", "3.4.28", r"3\.4\.[0-9]{1,3}")
SIZE = Text("a size", "900 MiB", SIZE_PATTERN)
ARCHS = Text("a list of architectures", "80-real;90a-real;120-virtual", "[0-9A-Za-z;,.+=_\\[\\]\"' -]+")
LIBRARY = Text("the soname of a shared library", "libcublas.so.13", r"[^\s/]+\.so(\.[0-9]+)*")
LOSS = Text("a rule of a comparison", "kernel-gone", r"[a-z]+(-[a-z]+)*")
LIBRARY_PATTERN = Text("a library's file name", "libflash_attn_*.so", r"[^\s/]+")
CHECK = Text(
    "a check", "smoke@90@580.65.06", r"audit|diff|smoke@cpu|(load|smoke|jit)@[0-9]{2,3}@[0-9]{3}(\.[0-9]{1,3}){0,2}"
)
TARGET = Text(
    "the name of a target, or SM@DRIVER",
    "90@580.65.06",
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}|[0-9]{2,3}@[0-9]{3}(\.[0-9]{1,3}){0,2}",
)
DATE = Text("a date, year-month-day", "2027-06-30", r"20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"

BUNDLE = Record(
    "the bundle",
    (
        Key(
            "name",
            NAME,
            "Name of the release; the asset is NAME-VERSION-linux-PLATFORM[-cudaX.Y].tar.gz.",
            required=True,
        ),
        Key("version", NAME, "Version of what is released, as it appears in the asset's name.", required=True),
    ),
)

_DIGEST = Key("sha256", SHA256, "SHA-256 of the bytes.", required=True)
SOURCE = Variants(
    "a source",
    (
        Record(
            "a git source",
            (
                Key(
                    "git",
                    Text("a git repository", "https://github.com/ggml-org/llama.cpp"),
                    "Repository.",
                    required=True,
                ),
                Key("ref", Text("a tag or branch", "b11434"), "Tag or branch to fetch.", required=True),
                Key("commit", COMMIT, "The commit that the ref must resolve to.", required=True),
            ),
        ),
        Record(
            "a path source",
            (
                Key("path", PATH, "Local source tree, relative to the matrix file.", required=True),
                Key("sha256", SHA256, "Digest that the tree must have."),
            ),
        ),
        Record(
            "a source archive",
            (
                Key("sdist", NAME, "Project of the package registry whose source archive is built.", required=True),
                Key("version", Text("a version", "11434.0.0"), "Its version.", required=True),
                _DIGEST,
                Key("subdirectory", INSIDE, "The tree inside the archive that is built (default: its top folder)."),
            ),
        ),
        Record(
            "a prebuilt file",
            (Key("file", PATH, "Bundle built elsewhere, relative to the matrix file.", required=True), _DIGEST),
        ),
        Record(
            "a prebuilt bundle by URL",
            (Key("url", URL, "Address of a bundle built elsewhere.", required=True), _DIGEST),
        ),
        Record(
            "a prebuilt wheel",
            (
                Key("wheel", NAME, "Project of the package registry whose wheel is the bundle.", required=True),
                Key("version", Text("a version", "1.0"), "Its version.", required=True),
                Key(
                    "filename",
                    Text("a wheel's file name", "x-1.0-py3-none-any.whl", r"[^/\s]+\.whl"),
                    "Its file.",
                    required=True,
                ),
                _DIGEST,
            ),
        ),
    ),
)

BASE_IMAGE = Record(
    "a base image",
    (
        Key(
            "reference",
            Text("an image reference", "debian:bookworm-slim", r"[^\s]+"),
            "Image to build in.",
            required=True,
        ),
        Key("digest", Text("sha256: and a digest", "sha256:" + 64 * "0", r"sha256:[0-9a-f]{64}"), "Pins the image."),
        Key(
            "fallback",
            Record(
                "a fallback",
                (
                    Key(
                        "debootstrap",
                        NAME,
                        "Debian suite to bootstrap where the image cannot be pulled.",
                        required=True,
                    ),
                    Key("include", Items(NAME, unique=True), "Packages to bootstrap it with."),
                ),
            ),
            "How to make a stand-in where the image cannot be pulled.",
        ),
    ),
)

_DEFINE = Text("the value of a CMake cache entry, in quotes", "ON", r"[^\0\r\n]*")
RECIPE = Record(
    "a recipe",
    (
        Key("dockerfile", INSIDE, "Template below dockerfiles/ that builds the bundle.", required=True),
        Key("cmake_target", Text("a CMake target", "llama-server", r"[^\s]+"), "What is built.", required=True),
        Key(
            "defines",
            Named("CMake cache entries", _DEFINE),
            "CMake cache entries; architectures and compression come from the lane.",
        ),
        Key(
            "install",
            Named("files", INSIDE, r"(?!/)[^\0\r\n]+"),
            "Path in the build tree → path in the bundle.",
            required=True,
        ),
        Key(
            "ship",
            Items(Text("a file name pattern", "libcudart.so.*", r"[^\s/]+"), unique=True),
            "Toolkit libraries copied into the bundle's lib/.",
        ),
        Key(
            "packages",
            Items(Text("a package", "ninja-build", r"[a-z0-9][a-z0-9.+-]+"), unique=True),
            "Distribution packages that the build needs.",
        ),
    ),
)

MODEL = Record(
    "a model",
    (
        Key("url", URL, "GGUF to serve instead of the generated one.", required=True),
        _DIGEST,
        Key("expected_token", WORD, "The token that the first request must answer.", required=True),
    ),
)

BUDGETS = Record(
    "budgets",
    (
        Key("ready", Seconds(), "Seconds from start until the server is ready."),
        Key("first_token", Seconds(), "Seconds from the first question to its token."),
        Key("warm_token", Seconds(), "Seconds from the second question to its token."),
        Key(
            "gpu_mebibytes_left",
            Integer("mebibytes, such as 32", 0, 1 << 20),
            "Memory of the GPU that may still be taken after the end (default 32).",
        ),
    ),
    least=1,
)

_WORDS = Items(WORD, least=1)
SMOKE = Record(
    "smoke settings",
    (
        Key(
            "command",
            _WORDS,
            "Starts the server in the unpacked bundle; "
            "{bundle} {model} {host} {port} {python} {launchers} {device} are filled in (default: the preset's).",
        ),
        Key("preset", Choice(tuple(PRESETS)), "A known server: command, {device} words, readiness, patience."),
        Key("arguments", Items(WORD), "Words behind the command of the preset."),
        Key(
            "readiness",
            Items(Text("a path on the server", "/health", r"/[A-Za-z0-9/._-]*"), least=1),
            "Paths that answer 200 when it is ready; the first that it knows counts (default /health, /v1/models).",
        ),
        Key(
            "device_arguments",
            Record(
                "device arguments",
                (
                    Key("cpu", Items(WORD), "Words for {device} on the CPU."),
                    Key("cuda", Items(WORD), "Words for {device} on a GPU."),
                ),
            ),
            "What {device} in the command stands for.",
        ),
        Key("environment", Named("variables", Text("text", "1", r"[^\0]*"), VARIABLE), "Environment of the server."),
        Key("ready_timeout", Seconds(), "Seconds from start until the server must be ready (default 120)."),
        Key("token_timeout", Seconds(), "Seconds for the one token (default 60)."),
        Key("stop_timeout", Seconds(), "Seconds to end the server (default 10)."),
        Key("contain", Flag(), "Serve in a container of the lane's base image instead of a plain process."),
        Key("model", MODEL, "What to serve (default: a GGUF generated offline)."),
        Key(
            "models",
            Items(Choice(GENERATED_MODELS), least=1, unique=True),
            "Generated models to serve one after the other; `family` is all of them (default [tiny]).",
        ),
        Key(
            "log_probabilities",
            Flag(),
            "`false` for a server that names none: its answers are compared by their token alone (default true).",
        ),
        Key("budgets", BUDGETS, "What the server may take at most."),
    ),
    least=1,
)

TARGET_DEFINITION = Record(
    "a target",
    (
        Key("sm", Integer("an SM number such as 90", 10, 999), "Compute capability without the dot.", required=True),
        Key("driver", DRIVER, "Driver version, or a branch for its first toolkit driver.", required=True),
        Key("gpu", WORD, "Name of the GPU."),
        Key(
            "suffices",
            Choice(("proven", "rehearsed", "inferred")),
            "Which proof a release needs: seen on a GPU, PTX assembled, or an audit of the bytes (default proven).",
        ),
        Key("required", Flag(), "`false` is another way to write `suffices: inferred`."),
        Key("runner", Items(WORD, unique=True), "Labels of the CI runner with this GPU."),
    ),
)

WAIVER = Record(
    "a waiver",
    (
        Key("lane", NAME, "Id of the lane.", required=True),
        Key("check", CHECK, "Check that may fail.", required=True),
        Key("rule", LOSS, "Only by findings of this rule (default: however it fails)."),
        Key("path", WORD, "Only of members with this path in the bundle, * and ? allowed."),
        Key("reason", WORD, "Why.", required=True),
        Key("owner", WORD, "Who answers for it.", required=True),
        Key("expires", DATE, "Last day on which it counts.", required=True),
    ),
)
