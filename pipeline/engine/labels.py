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
"""Image names below this are made on this machine and exist nowhere else."""

COMPILER_CACHE = "/ccache"
"""Where builds see the cache mount of their compilers; BuildKit names the mount by this path."""
