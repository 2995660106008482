"""The driver of this machine: devices, a lease on one, and every module loaded in child processes."""
