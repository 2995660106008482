"""A machine without a container engine goes on with a bundle that another one built, and only with that one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.street import write_matrix
from tests.e2e.test_wheel import SOURCE_LANE, source_sections

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "unix:///nowhere.sock"


@pytest.mark.docker
def test_a_recorded_bundle_is_checked_without_an_engine_until_its_recipe_changes(tmp_path: Path) -> None:
    sections = source_sections(tmp_path)
    sections["smoke"] = {"contained": {**sections["smoke"]["contained"], "contain": False}}  # type: ignore[index]
    street = write_matrix(tmp_path, [SOURCE_LANE], **sections)
    assert street.cubingate("build").returncode == 0
    done = street.cubingate("run", DOCKER_HOST=NOWHERE)
    assert done.returncode == 0, done.stderr
    assert "taking the bundle on record" in done.stderr
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("CMAKE_BUILD_TYPE: Release", "CMAKE_BUILD_TYPE: Debug"))
    changed = street.cubingate("run", DOCKER_HOST=NOWHERE)
    assert changed.returncode == 4
    assert "not built: no engine" in changed.stdout
