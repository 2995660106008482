"""Tests of the publishers."""
