"""What a comparison with the last release calls a loss, in the order in which it is told."""

from __future__ import annotations

from pipeline.explain.topic import Asked, Topic


def _loss(identifier: str, document: str) -> Topic:
    return Topic(identifier, Asked.DIFF, document.strip())


LOSSES: tuple[Topic, ...] = (
    _loss(
        "arch-lost",
        """
A GPU that the last release served and this one does not.

What: some driver served every container on a GPU and none does now, or a library's machine code for a GPU is gone and
only PTX is left. An architecture whose GPUs another one serves as well (sm_86 beside sm_80) is a note.

Why: the toolkit dropped it (13.x begins at sm_75), a default list moved, or one -gencode was lost. Users of that GPU
see "no kernel image is available for execution on the device" (209) after an update that changed nothing else; where
PTX is left, the first start compiles for minutes, and fails on drivers older than the toolkit's.

Remedy: put the architecture back into the list, or keep a second asset for it. Where it is meant, tell users, and write
may_lose: [arch-lost] (--allow arch-lost).

Source: both artifacts; the floors of each are those of `cubingate show`.
""",
    ),
    _loss(
        "floor-raised",
        """
A newer driver is needed than for the last release.

What: the lowest driver on which everything loads went up for a GPU that some driver serves before and after; the
finding names the rule that raised it.

Why: another toolkit major, a newer PTX ISA where only PTX serves, or Zstandard compression. Machines that are not
updated (R535 in data centers) fail after an update of the product.

Remedy: what the named rule says (`cubingate explain fatbin-codec`, ptx-isa, toolkit-major), or announce the new floor
and write may_lose: [floor-raised] (--allow floor-raised).

Source: both artifacts; `cubingate policy` lists the floors that are added up.
""",
    ),
    _loss(
        "codec-changed",
        """
Device code is packed with another codec than in the last release.

What: a library has images of a compression that it had none of. It is a loss where a floor rose because of it, else
only told.

Why: toolkits change their default (13.x packs PTX with Zstandard), and projects theirs (ggml asks for size from 12.8
on). Drivers before 550.54.14 cannot unpack Zstandard.

Remedy: build with the --compress-mode of the last release, or allow it (may_lose: [codec-changed]).

Source: both artifacts; the rule fatbin-codec.
""",
    ),
    _loss(
        "kernel-gone",
        """
A kernel that the last release had and this one has not.

What: a kernel group of a library is in none of its images any more, or in none for an architecture that is still there.
Fewer instantiations of a template are a note. Kernels are compared by their names without template arguments. Only with
--kernels; the check of a lane always compares them.

Why: a source file fell out of the build, or a kernel moved behind an #if. Nothing else shows it before a launch fails
with "named symbol not found" (500) or "invalid device function" (98).

Remedy: look whether anything still launches it; then allow the loss (may_lose: [kernel-gone]).

Source: both artifacts' symbol tables; `cubingate show --kernels` prints them.
""",
    ),
    _loss(
        "file-gone",
        """
A program or library of the last release is not there any more.

What: an ELF file has no counterpart of the same path, of the same path without versions, or of the same name.

Why: packaging lists are kept by hand; a renamed or forgotten backend (libggml-cuda.so) is found missing at run time
only, and by programs that open it with dlopen not even then: they fall back to the CPU.

Remedy: ship it again, or allow the loss (may_lose: [file-gone]).

Source: both artifacts.
""",
    ),
    _loss(
        "needed-added",
        """
A library that users must have now, and did not need for the last release.

What: a DT_NEEDED name that neither the artifact nor a base system nor the driver brings, and that the last release did
not need either.

Why: an option was switched on (NCCL, OpenMP, a BLAS), or a static library became a shared one. Users see "cannot open
shared object file" after an update.

Remedy: ship it in the bundle, link it statically, or tell users to install it (may_lose: [needed-added]).

Source: both artifacts; `cubingate policy host_libraries` is what a host is expected to have.
""",
    ),
    _loss(
        "glibc-raised",
        """
A newer C library is needed than for the last release.

What: the highest GLIBC_ symbol version that the artifact's files require went up.

Why: the build moved to a newer distribution. Users of older ones see "version `GLIBC_2.38' not found".

Remedy: build in the image of the last release, or announce the new floor (may_lose: [glibc-raised]).

Source: both artifacts' version needs; glibc manual, symbol versioning.
""",
    ),
    _loss(
        "libstdcxx-raised",
        """
A newer C++ library is needed than for the last release.

What: the highest GLIBCXX_ or CXXABI_ symbol version that the artifact's files require went up.

Why: a newer compiler. Users of older distributions see "version `GLIBCXX_3.4.32' not found".

Remedy: build with the compiler of the last release, link libstdc++ statically, or announce it
(may_lose: [libstdcxx-raised]).

Source: both artifacts' version needs; libstdc++ manual, ABI policy and guidelines.
""",
    ),
    _loss(
        "size-grown",
        """
The artifact grew by more than a tenth: a warning, never a loss.

What: its size in bytes against the last release's, with the members that grew most.

Why: each architecture in the list and each switch to no compression is paid for by every download; a forgotten static
library or debug information is found here first.

Remedy: look at the members that are named. `size_budget` of a lane sets a limit that is kept.

Source: both artifacts.
""",
    ),
)
