"""Frozen values that all floors share; no I/O, no clock."""
