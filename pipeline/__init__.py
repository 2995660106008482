"""cubingate: a release gate for CUDA LLM-serving bundles."""

__version__ = "0.1.0"
