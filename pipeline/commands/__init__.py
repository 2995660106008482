"""One file per subcommand: arguments in, exit status out; decides nothing.

A command module has ``configure(parser)`` and ``execute(arguments) -> ExitStatus``. It is imported only when it
is asked for, so that ``--version`` and ``audit`` do not pay for Docker, YAML or HTTP.
"""

from __future__ import annotations

COMMANDS: tuple[tuple[str, str], ...] = (
    ("plan", "expand matrix.yaml into lanes, and lint it before a build costs an hour"),
    ("build", "build (or fetch) the bundles of the selected lanes"),
    ("audit", "say from bytes alone whether device code will load on a GPU with a given driver"),
    ("load", "give every device-code module to the driver of this machine"),
    ("smoke", "unpack a bundle, start its server, ask for one token"),
    ("show", "what is inside: SM by driver branch, floors, what blocks the next lower branch"),
    ("diff", "what a release lost against the one before it: architectures, drivers, kernels, libraries"),
    ("gate", "evidence in, verdict out; builds and runs nothing"),
    ("publish", "publish what the gate approved, byte for byte"),
    ("run", "plan, build, audit, smoke and gate; resumable"),
    ("pick", "which published asset fits this (or that) machine, and why the others do not"),
    ("policy", "the facts that verdicts rest on, with their sources"),
    ("explain", "what a rule or CUDA error means and what to change"),
    ("doctor", "what this machine can do, and what this repository lacks"),
    ("clean", "remove the containers, images and state that this tool made"),
    ("init", "write a matrix.yaml, a Dockerfile and a workflow into a repository, over nothing"),
    ("workflow", "render the GitHub workflow of a matrix.yaml, or say that the committed one is stale"),
    ("schema", "print the JSON Schema of matrix.yaml"),
)
"""The commands of this version, in the order of a release, each with the line that ``--help`` shows."""

NOT_YET: tuple[str, ...] = ()
"""Commands that the contract names and this version does not have."""
