"""Evidence on disk: in-toto statements, one file per record under the digest it is about, appended, never changed."""

from pipeline.evidence.scope import scope_of
from pipeline.evidence.statement import instant, iso
from pipeline.evidence.store import append, check_directory, read

__all__ = ["append", "check_directory", "instant", "iso", "read", "scope_of"]
