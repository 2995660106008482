"""Dockerfiles and templates are found, and what lies beside a matrix file goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline import resources
from pipeline.errors import InfrastructureError
from pipeline.resources import find_resources

if TYPE_CHECKING:
    from pathlib import Path


def _shipped(root: Path) -> Path:
    (root / "dockerfiles").mkdir(parents=True)
    (root / "templates").mkdir()
    return root


def test_the_clone_has_them() -> None:
    found = find_resources()
    assert (found.dockerfiles[0] / "llama.cpp.Dockerfile").is_file()
    assert (found.templates / "docker" / "compile.j2").is_file()
    assert (found.templates / "report" / "page.j2").is_file()


def test_a_wheel_has_them_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = _shipped(tmp_path / "pipeline/_shipped")
    _shipped(tmp_path)
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "pipeline/resources.py"))
    assert find_resources().templates == inside / "templates"


def test_an_installation_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dockerfiles").mkdir()
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "pipeline/resources.py"))
    with pytest.raises(InfrastructureError, match="lacks its dockerfiles"):
        find_resources()


def test_beside_a_matrix(tmp_path: Path) -> None:
    shipped = find_resources()
    assert find_resources(beside=tmp_path) == shipped
    assert find_resources(beside=shipped.templates.parent) == shipped
    (tmp_path / "dockerfiles").mkdir()
    assert find_resources(beside=tmp_path).dockerfiles == (tmp_path / "dockerfiles", *shipped.dockerfiles)
