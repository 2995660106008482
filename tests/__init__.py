"""The tests mirror the package: one file for each module."""
