"""Unpack archives so that nothing of them, whatever their names and links say, gets outside."""

from pipeline.unpack.unpack import unpack

__all__ = ["unpack"]
