"""Tests of ``pipeline.inventory``."""
