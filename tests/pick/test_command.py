"""The command as a user meets it: sources, statuses, 80 columns, and a document that fits its schema."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.e2e.street import write_matrix

ROOT = Path(__file__).resolve().parents[2]
RELEASES: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "pick" / "vectors.json").read_text())["releases"]
SCHEMA = json.loads((ROOT / "docs" / "pick.schema.json").read_text(encoding="utf-8"))
A100 = ("--target", "80@535.288.01", "--host", "glibc=2.36,platform=amd64")


def pick(*arguments: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "pipeline", "pick", *map(str, arguments)]
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    done = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def document(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    status, out, _ = pick(*arguments, "--format", "json")
    parsed: dict[str, Any] = json.loads(out)
    jsonschema.validate(parsed, SCHEMA)
    return status, parsed


@pytest.fixture
def full(tmp_path: Path) -> Path:
    return written(tmp_path, "full")


def written(folder: Path, release: str) -> Path:
    path = folder / "compat.json"
    path.write_text(json.dumps(RELEASES[release]))
    return path


def test_an_asset_that_fits_is_told_in_80_columns(full: Path) -> None:
    status, out, err = pick(full, *A100)
    assert (status, err) == (0, "")
    assert out.splitlines()[2] == "server-cuda12.4-x86_64.tar.gz"
    assert "proven: was seen to work" in " ".join(out.split())
    assert "server-cuda13.0-x86_64.tar.gz: needs driver 580.65.06 for sm_80" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_folder_of_a_compat_json_is_a_source(full: Path) -> None:
    status, found = document(full.parent, *A100)
    assert (status, found["pick"], found["nearest"]) == (0, "server-cuda12.4-x86_64.tar.gz", None)
    assert found["assets"][0]["gpus"][0]["basis"] == "proven"


def test_nothing_fits_is_status_1_with_the_nearest_and_the_way_there(tmp_path: Path) -> None:
    source = written(tmp_path, "gpu-only")
    status, found = document(source, "--target", "80@470.256.02", "--host", "glibc=2.31,platform=x86_64")
    assert (status, found["pick"], found["nearest"]) == (1, None, "server-cuda12.4-x86_64.tar.gz")
    _, out, _ = pick(source, "--target", "80@470.256.02", "--host", "glibc=2.31,platform=x86_64")
    assert "no asset fits this machine" in out
    assert "upgrade the driver to 525.60.13 or newer" in " ".join(out.split())


def test_a_bare_branch_is_its_first_driver_and_cpu_is_no_gpu(full: Path) -> None:
    _, found = document(full, "--target", "80@535", "--host", "platform=x86_64")
    assert found["machine"]["gpus"] == [{"sm": "80", "driver": "535.54.03", "name": None}]
    _, found = document(full, "--target", "cpu", "--host", "platform=arm64,glibc=2.31")
    assert (found["pick"], found["machine"]["gpus"]) == ("server-cpu-aarch64.tar.gz", [])


def test_a_gpu_that_is_not_served_beside_one_that_is(full: Path) -> None:
    _, out, _ = pick(full, *A100, "--target", "60@535.288.01")
    assert "not on sm_60: hide it with CUDA_VISIBLE_DEVICES" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--target", "eighty"),
        ("--target", "cpu", "--target", "80@535"),
        ("--host", "glibc"),
        ("--host", "glibc=new"),
        ("--host", "glibc=2.31,glibc=2.36"),
        ("--host", "platform=vax"),
        ("--host", "cpu=x86-64-v3"),
    ],
    ids=" ".join,
)
def test_usage_is_status_2(full: Path, arguments: tuple[str, ...]) -> None:
    assert pick(full, *arguments)[0] == 2


def test_sources_that_are_nothing(tmp_path: Path) -> None:
    assert pick(tmp_path / "nowhere", *A100)[0] == 2
    assert pick(tmp_path, *A100)[0] == 3, "an empty folder"
    (tmp_path / "notes.txt").write_text("no bundle")
    assert pick(tmp_path, *A100)[0] == 3
    (tmp_path / "compat.json").write_text("{")
    status, _, err = pick(tmp_path, *A100)
    assert (status, len(err.splitlines())) == (5, 1)
    (tmp_path / "compat.json").write_text(json.dumps(RELEASES["full"] | {"schema_version": 2}))
    assert "has schema_version 2" in pick(tmp_path, *A100)[2]


HOSTILE = "\x1b[31m\r\n::error::no|`$(id)`<img src=x>\u202eשרת"


@pytest.mark.parametrize("name", ["compat.json", "bundle"])
def test_what_is_neither_a_file_nor_a_folder_is_not_read(tmp_path: Path, name: str) -> None:
    """A device never ends."""
    (tmp_path / name).symlink_to("/dev/zero")
    status, out, err = pick(tmp_path / name, *A100)
    assert (status, out) == (2, "")
    assert "neither a file nor a folder" in err


def test_a_hostile_source_is_told_on_one_line(tmp_path: Path) -> None:
    for source in (HOSTILE, f"https://127.0.0.1:9/{HOSTILE}?token=secret"):
        status, out, err = pick(source, *A100)
        assert status in {2, 4}
        assert out == ""
        assert err.rstrip("\n").isprintable()
        assert "secret" not in err
    (tmp_path / HOSTILE.replace("/", "")).mkdir()
    place = tmp_path / HOSTILE.replace("/", "")
    written(place, "full")
    status, out, _ = pick(place, *A100)
    assert status == 0
    assert all(line.isprintable() for line in out.splitlines())


def test_names_from_the_right_are_picked_and_kept(tmp_path: Path) -> None:
    content = json.loads(json.dumps(RELEASES["full"]))
    for asset in content["assets"]:
        asset["file"] = f"שרת-{asset['file']}"
    (tmp_path / "compat.json").write_text(json.dumps(content))
    assert document(tmp_path, *A100)[1]["pick"] == "שרת-server-cuda12.4-x86_64.tar.gz"
    assert pick(tmp_path, *A100)[1].splitlines()[2] == "שרת-server-cuda12.4-x86_64.tar.gz"


def test_more_assets_than_anybody_publishes_are_too_many(tmp_path: Path) -> None:
    """A hundred thousand are more than a document may have; what fits into one is quickly chosen from."""
    (row, *_) = RELEASES["full"]["assets"]
    small = {**row, "serves": {**row["serves"], "gpus": []}}
    for number, status in ((100_000, 5), (5_000, 0)):
        many = [{**small, "file": f"{index}.tar.gz"} for index in range(number)]
        (tmp_path / "compat.json").write_text(json.dumps({**RELEASES["full"], "assets": many}))
        found, out, err = pick(tmp_path, *A100)
        assert found == status
        assert len(out.splitlines()) < 60
        assert ("4979 more (--format json has all)" in out) is (status == 0)
        assert ("larger than 8 MiB" in err) is (status == 5)


def test_the_table_of_a_release_asks_no_machine(full: Path) -> None:
    status, out, err = pick(full.parent, "--table")
    assert (status, err) == (0, "")
    assert out.count("| server-") == len(RELEASES["full"]["assets"])
    for machine in (A100, ("--format", "json")):
        assert pick(full, "--table", *machine)[0] == 2


def test_what_a_release_publishes_is_picked_from(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("run").returncode == 0
    assert street.cubingate("publish").returncode == 0
    done = street.cubingate("pick", "dist", "--target", "80@535", "--format", "json")
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert (done.returncode, found["pick"], found["assets"][0]["gpus"]) == (0, "fixture-1.0-linux-x86_64.tar.gz", [])
    content = json.loads((tmp_path / "dist" / "compat.json").read_text())
    jsonschema.validate(content, json.loads((ROOT / "docs" / "compat.schema.json").read_text()))
    assert content["assets"][0]["serves"]["gpus"] == []
    told = (tmp_path / "dist" / "COMPATIBILITY.md").read_text()
    assert street.cubingate("pick", "dist", "--table").stdout == told
    (tmp_path / "dist" / "compat.json").unlink()
    bare = json.loads(street.cubingate("pick", "dist", "--target", "cpu", "--format", "json").stdout)
    assert bare["pick"] == "fixture-1.0-linux-x86_64.tar.gz", "audited on the spot"
