"""What goes out beside the bundles so that others need not take our word: provenance and a bill of materials."""

from pipeline.attest.provenance import provenance
from pipeline.attest.sbom import bill_of_materials

__all__ = ["bill_of_materials", "provenance"]
