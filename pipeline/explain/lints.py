"""What the plan lint says under ids of its own; others it shares with the audit, whose rules explain them."""

from __future__ import annotations

from pipeline.explain.topic import Asked, Topic


def _lint(identifier: str, document: str) -> Topic:
    return Topic(identifier, Asked.PLAN, document.strip())


LINTS: tuple[Topic, ...] = (
    _lint(
        "toolkit-arch",
        """
The toolkit cannot emit an architecture of the list.

What: archs of a lane against what nvcc of its toolkit knows.

Why: 13.x dropped everything below sm_75, sm_100 and sm_120 begin with 12.8, sm_103 and sm_121 with 12.9. nvcc ends with
"Unsupported gpu architecture", an hour into a build where that file is the last.

Remedy: the toolkits that know all of it are named; or drop the architecture, or split the lane in two.

Source: `cubingate policy toolkits`; measured: ptxas --help of every toolkit from 11.8 to 13.5.
""",
    ),
    _lint(
        "compression-mode",
        """
The toolkit has no such compression mode.

What: compression of a lane against the toolkit.

Why: nvcc has --compress-mode from 12.8 on (libnvfatbin from 12.6 on); older ones end with "Unknown option".

Remedy: write compression: default, or use toolkit 12.8 or later.

Source: nvcc manual, --compress-mode; measured: libnvfatbin 12.4 to 13.5.
""",
    ),
    _lint(
        "toolkit-wheels",
        """
A toolkit from wheels that carry no compiler.

What: toolkit_from: wheels with a toolkit of CUDA 11 or 12.

Why: NVIDIA's wheels of these majors have ptxas and nvvm, but no nvcc.

Remedy: write toolkit_from: base-image and use a devel image, or a toolkit from 13.0 on.

Source: the contents of nvidia-cuda-nvcc-cu11, nvidia-cuda-nvcc-cu12 and nvidia-cuda-nvcc.
""",
    ),
    _lint(
        "base-image-toolkit",
        """
The base image holds another toolkit than the lane names, none, or one without a compiler.

What: the tag of an nvidia/cuda image, or a plain distribution, against toolkit and toolkit_from.

Why: the image's toolkit wins, so that the lane would be built with another one than its name says; runtime and base
images have no nvcc.

Remedy: the image or the toolkit that would fit is named.

Source: the tags of nvidia/cuda (base, runtime, devel).
""",
    ),
    _lint(
        "arch-floor",
        """
The driver floor is older than the driver that first knows an architecture of the list.

What: every architecture's first driver against driver_floor. An error where the floor knows none of them; a warning
where it knows some and no target says from which driver on the others are promised.

Why: nobody with the floor's driver can have that GPU, so the floor promises nothing for it.

Remedy: declare a target with the driver that is named (120@570), raise driver_floor, or drop the architecture.

Source: `cubingate policy architectures`.
""",
    ),
    _lint(
        "target-floor",
        """
A target's driver is older than the lane's own floor.

What: the driver of each target against driver_floor.

Why: one of two promises is wrong: users read the floor, and the gate asks for the target.

Remedy: lower driver_floor to the target's driver, or raise the target's.

Source: matrix.yaml itself.
""",
    ),
    _lint(
        "gpu-name",
        """
A target names a product of another compute capability.

What: gpu: of a target against its sm.

Why: copied lines: an A30 is 8.0, an A40 is 8.6. Proof on the one says nothing about the other.

Remedy: correct sm or gpu.

Source: `cubingate policy architectures`; CUDA GPUs and their compute capability.
""",
    ),
    _lint(
        "unproven-target",
        """
A required target that no required check proves.

What: a target with required: true, while the checks of the lane that would run on it are not required.

Why: without a check on that GPU the promise rests on what was read from bytes alone.

Remedy: add the named check to required, or say that inferred evidence suffices for the target.

Source: matrix.yaml itself.
""",
    ),
    _lint(
        "asset-name",
        """
Two lanes whose bundles would have one file name.

What: the name that a lane's bundle is published under.

Why: the second would overwrite the first, or the host refuses it.

Remedy: give each a name or version of its own (bundle: of the row).

Source: matrix.yaml itself.
""",
    ),
    _lint(
        "github-jobs",
        """
More lanes than GitHub starts jobs.

What: the number of lanes against 256.

Why: a workflow with a larger matrix does not start at all.

Remedy: exclude rows, or select lanes with --lane in more than one workflow.

Source: GitHub documentation, Actions limits.
""",
    ),
)
