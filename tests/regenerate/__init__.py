"""Asks NVIDIA's own tools what the policy tables claim, and says where they differ: ``python -m tests.regenerate``."""
