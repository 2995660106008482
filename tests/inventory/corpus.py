"""One small healthy artifact of each kind, made by NVIDIA's own tools, gcc and the standard library."""

from __future__ import annotations

from tests.formats.artifacts import Library, ar_of, deb_of, gz, link, tar_of, wheel_of, xz, zip_of, zst
from tests.toolchain import cubin, cubin_image, fatbinary, kernel_ptx, nvfatbin, ptx_image

KINDS = (
    *("library", "object", "fatbin", "lz4", "concatenated", "cubin", "old-cubin", "ptx"),
    *("tar", "tar.gz", "tar.xz", "tar.zst", "zip", "streamed-zip", "zip-in-tar", "deb", "ar"),
)


def make_corpus() -> dict[str, bytes]:
    """The artifacts by the names in ``KINDS``."""
    images = [cubin_image("13.0", "scale", "80"), cubin_image("12.8", "scale", "90a"), ptx_image("13.0", "scale", "90")]
    fatbins = (nvfatbin("13.0", images, mode="none"), nvfatbin("13.0", images, mode="size"))
    newest = [cubin_image("13.5", "scale", arch) for arch in ("80", "90", "100a")]
    library = link(
        Library(fatbins=fatbins, undefined=("memcpy@GLIBC_2.14",), strings=("libcuda.so.1",), runpath="$ORIGIN")
    )
    files = {"lib/libk.so": library, "README": b"words"}
    return {
        "library": library,
        "object": link(Library(fatbins=fatbins, kind="object")),
        "fatbin": fatbins[0] + fatbins[1],
        "lz4": nvfatbin("12.8", [cubin_image("12.8", "scale", "80")], mode="speed", everything=True),
        "concatenated": fatbinary("13.5", newest, concat=True),
        "cubin": cubin("13.0", "scale", "90a"),
        "old-cubin": cubin("11.8", "scale", "80"),
        "ptx": kernel_ptx("scale", "8.7", "sm_90a").encode(),
        "tar": tar_of(files, links={"lib/libk.so.1": "libk.so"}),
        "tar.gz": gz(tar_of(files)),
        "tar.xz": xz(tar_of(files)),
        "tar.zst": zst(tar_of(files)),
        "zip": zip_of(files),
        "streamed-zip": zip_of(files, streamed=True),
        "zip-in-tar": tar_of({"w.whl": wheel_of(files)}),
        "deb": deb_of(files),
        "ar": ar_of([("k.o", library)]),
    }
