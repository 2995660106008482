"""The whole release workflow, executed by act on this machine."""
