"""The labels by which everything this tool makes in an engine is found again."""

from __future__ import annotations

LANE = "io.cubingate.lane"
"""The lane that a container or image was made for; its presence marks a thing as ours."""

ORIGIN = "io.cubingate.origin"
"""How a base image came to be, where we made it: ``debootstrap``."""

STAND_IN = "io.cubingate.stand-in"
"""``true`` on an image that merely bears the name of the real one; evidence then says ``stand-in``."""

LAUNCH = "io.cubingate.launch"
"""A random name per started server, so that its leftovers are found without guessing."""

LOCAL_REPOSITORY = "cubingate-local"
"""Base images below this name are made on this machine and exist nowhere else."""

BUILD_REPOSITORY = "cubingate-build"
"""The name of images that exist only until a bundle is copied out of them."""

COMPILER_CACHE = "/ccache"
"""Where builds see the cache mount of their compilers; BuildKit names the mount by this path."""
