"""What is known about the CUDA errors that users of released binaries meet: meaning, candidates, how to tell apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """One cause of an error: the rule that finds it before users do (empty: none can), and how it shows itself."""

    rule: str
    sign: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What an error code means for a released binary."""

    code: int
    meaning: str
    candidates: tuple[Candidate, ...]


ADVICE: tuple[Advice, ...] = (
    Advice(
        34,
        "The program loaded a stub of libcuda, a library for linking that does nothing, instead of the driver's.",
        (
            Candidate("driver-library-shipped", "a libcuda.so.1 lies in the bundle, or lib/stubs is on a RUNPATH"),
            Candidate("", "LD_LIBRARY_PATH of the user names a toolkit's lib/stubs folder"),
        ),
    ),
    Advice(
        35,
        "The CUDA runtime in the bundle is of a newer major than the driver serves.",
        (
            Candidate("toolkit-major", "libcudart.so.13 needs 580.65.06, .12 needs 525.60.13, .11 needs 450.80.02"),
            Candidate("compat-shim", "an old libcuda from a compat folder answers instead of the host's newer one"),
        ),
    ),
    Advice(
        36,
        "The program calls a driver function that this driver of the same CUDA major does not have yet.",
        (Candidate("libcuda-symbol", "the entry point is newer than the floor, and is looked up at run time"),),
    ),
    Advice(
        98,
        "The kernel is not registered for this device: as a rule its unit has no image for the GPU.",
        (
            Candidate("arch-missing", "one unit's arch list is shorter than the rest"),
            Candidate("declared-archs", "the whole library was built for another arch list than declared"),
            Candidate("kernel-missing", "the unit has an image for the GPU, but this kernel is not in it"),
        ),
    ),
    Advice(
        100,
        "The driver sees no GPU that it serves.",
        (
            Candidate("driver-retired", "the driver branch is newer than the last one for this GPU generation"),
            Candidate("driver-too-old-for-gpu", "the GPU is newer than the driver"),
            Candidate("", "CUDA_VISIBLE_DEVICES is empty or names a GPU or MIG slice that is not there"),
            Candidate("", "the container was started without GPUs (--gpus, CDI), or the device nodes are missing"),
        ),
    ),
    Advice(
        200,
        "The driver took an image out of the container and could not use it. The architecture is not the problem.",
        (
            Candidate("fatbin-codec", "entries are Zstandard-compressed and the driver is older than 550.54.14"),
            Candidate("toolkit-major", "the cubin is of a newer CUDA major (12.x on R470, 13.x on R570)"),
            Candidate("cubin-abi", "the cubin is of ABI 8 (13.x, or 12.8 and 12.9 for sm_100 on) under R550 or older"),
            Candidate("corrupt-input", "the file is damaged: compare its digest, run audit --deep"),
        ),
    ),
    Advice(
        209,
        "No image in the container is for this GPU. The driver version is rarely the problem.",
        (
            Candidate("arch-missing", "neither a cubin of the GPU's major nor PTX for it or an older one"),
            Candidate("arch-suffix", "only a or f images: sm_90a and sm_120a serve exactly one SM"),
            Candidate("fatbin-kind", "packed with fatbinary --concat (toolkit 13.4 on), which the driver skips"),
            Candidate("cpu-flavour", "a CUDA bundle without device code of its own"),
            Candidate("", "CUDA_FORCE_PTX_JIT=1 is set and there is no PTX"),
        ),
    ),
    Advice(
        218,
        "The driver's JIT compiler refused the PTX.",
        (
            Candidate("arch-suffix", "a bare PTX file for another GPU's a or f target"),
            Candidate("arch-missing", "a bare PTX file for a newer architecture than the GPU's"),
            Candidate("ptx-isa", "on R418 and older also PTX of a newer ISA version"),
            Candidate("static-shared-memory", "a kernel declares more shared memory than a block of this GPU may have"),
            Candidate("", "the PTX uses an instruction that its .target does not have"),
        ),
    ),
    Advice(
        221,
        "The driver's JIT compiler library (libnvidia-ptxjitcompiler.so.1) is not there, and only PTX serves this GPU.",
        (
            Candidate("arch-missing", "a cubin for this GPU would need no JIT: see jit_forbidden in audit's JSON"),
            Candidate("", "the container lacks the compute capability (NVIDIA_DRIVER_CAPABILITIES), or the driver "
                          "package is partial"),
        ),
    ),
    Advice(
        222,
        "Only PTX serves this GPU, and it is of a newer ISA version than the driver's JIT compiler reads.",
        (
            Candidate("ptx-isa", "PTX needs the driver branch of its toolkit; minor version compatibility is for "
                                 "cubins. One unit without the GPU's cubin is enough"),
        ),
    ),
    Advice(
        223,
        "JIT is forbidden (CUDA_DISABLE_PTX_JIT=1) and only PTX serves this GPU.",
        (Candidate("arch-missing", "no cubin for this GPU: see jit_forbidden in audit's JSON"),),
    ),
    Advice(
        225,
        "Old PTX calls cudaDeviceSynchronize in device code, which sm_90 and newer do not have.",
        (Candidate("", "PTX of a toolkit before 11.6 with dynamic parallelism is compiled for a new GPU"),),
    ),
    Advice(
        500,
        "The module loaded, but it has no kernel or variable of that name.",
        (
            Candidate("arch-missing", "the image that matched the GPU lacks this kernel: another arch list, or only "
                                      "the linker's kernel-less ELF"),
            Candidate("kernel-missing", "other architectures' images of the unit have it: audit --kernels names it"),
            Candidate("", "libraries of the Arm server toolkit on a JetPack system (bitsandbytes pull request 1939)"),
            Candidate("libcuda-symbol", "cuGetProcAddress was asked for a function newer than the driver"),
        ),
    ),
    Advice(
        701,
        "The kernel needs more registers or threads than the GPU has.",
        (
            Candidate("register-budget", "the kernel names its block and a register count that do not go together"),
            Candidate("", "the launch configuration was tuned for another GPU, or for a build with other options"),
        ),
    ),
    Advice(
        803,
        "libcuda and the kernel driver are of versions that do not go together.",
        (
            Candidate("compat-shim", "a forward-compatibility libcuda older than the kernel driver is found first"),
            Candidate("driver-library-shipped", "the bundle ships a libcuda of another version"),
            Candidate("", "the driver was updated and the machine not restarted"),
        ),
    ),
    Advice(
        804,
        "A forward-compatibility libcuda is in use on a board that it does not support (GeForce).",
        (Candidate("compat-shim", "a compat folder is on the loader's path"),),
    ),
    Advice(
        999,
        "The driver gives no reason. A damaged compressed payload answers so (measured); so do broken driver modules.",
        (
            Candidate("corrupt-input", "the payload does not unpack: run audit --deep"),
            Candidate("", "nvidia-uvm is not loaded, or the GPU fell off the bus: see the kernel's log"),
        ),
    ),
)  # fmt: skip
