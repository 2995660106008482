"""One file per destination: preflight, publish, read back. They accept only ``Approved``."""
