"""Tests of ``pipeline.binary``."""
