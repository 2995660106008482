"""docs/workflow.md names every property that workflows are held against, and every job."""

from __future__ import annotations

from pathlib import Path

import yaml

from pipeline.workflow.safety import PROPERTIES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "workflow.md").read_text(encoding="utf-8")


def test_every_property_is_explained() -> None:
    names = [look.__name__.replace("_", "-") for look in PROPERTIES]
    assert [
        line.split("`")[1] for line in TEXT.splitlines() if line.startswith("| `") and "-" in line.split("`")[1]
    ] == names


def test_every_job_and_environment_is_explained() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert all(f"| `{name}`" in TEXT for name in jobs)
    assert all(f"environment `{job['environment']}`" in TEXT for job in jobs.values() if "environment" in job)


def test_nothing_is_ignored() -> None:
    """As the document says of zizmor's findings."""
    files = [path for path in (ROOT / ".github").rglob("*") if path.is_file()]
    assert not [path for path in files if "zizmor: ignore" in path.read_text(encoding="utf-8", errors="replace")]
    assert not [path for path in files if path.name.startswith("zizmor")]
