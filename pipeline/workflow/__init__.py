"""GitHub workflows out of a plan: pure, values in and text out; and what every workflow file is held against."""

from __future__ import annotations
