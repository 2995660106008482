"""The tables say what NVIDIA's tools say; a wrong cell is told, and mended on request."""

from __future__ import annotations

import csv
import shutil
from typing import TYPE_CHECKING

import pytest

from pipeline.policy.tables import FOLDER, read_table
from tests.regenerate.__main__ import TABLES, main
from tests.regenerate.compare import NOTHING, Tables, compare
from tests.regenerate.errors import error_cells
from tests.regenerate.measure import Measurement, listed_archs, measure
from tests.regenerate.rewrite import rewrite

if TYPE_CHECKING:
    from pathlib import Path

OLD_AND_NEW = ("--toolkit", "12.8", "--toolkit", "13.4")
DATE = "2027-01-31"


@pytest.fixture
def tables() -> Tables:
    return {name: read_table(name) for name in TABLES}


def copied(folder: Path, *changes: tuple[str, str, str]) -> Path:
    """The tables in a folder of their own, with texts replaced: table, before, after."""
    place = folder / "tables"
    shutil.copytree(FOLDER, place)
    for table, before, after in changes:
        path = place / f"{table}.csv"
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), encoding="utf-8")
    return place


def measured(toolkit: str = "13.0", *, minimum: dict[str, str] | None = None, **codecs: str) -> Measurement:
    """A toolkit with the answers that the tables have for 13.0, but for these."""
    row = next(row for row in read_table("toolkits") if row["toolkit"] == "13.0")
    archs = tuple(row["archs"].split())
    stated = {row["arch"]: row["ptx"] for row in read_table("ptx_minimum")}
    return Measurement(
        toolkit=toolkit,
        ptx="9.0",
        archs=archs,
        abi=dict.fromkeys(archs, 8),
        minimum={arch: stated[arch] for arch in archs} | (minimum or {}),
        codecs={("libnvfatbin", mode, "ptx"): codec for mode, codec in codecs.items()},
        concat=False,
    )


def told(measurement: Measurement, tables: Tables) -> list[str]:
    return [str(cell) for cell in compare([measurement], tables).differences]


def test_archs_of_a_help_text() -> None:
    text = (
        "--gpu-name <gpu name>\n  values: 'compute_90','lto_90','sm_100a','sm_90',\n 'sm_90a','sm_100'.\n\n"
        "--help\n 'sm_10'\n"
    )
    assert listed_archs(text) == ("90", "90a", "100", "100a")


def test_right_tables_have_no_differences(tables: Tables) -> None:
    done = compare([measured()], tables)
    assert done.differences == ()
    assert len(done.cells) == 5 + len(measured().archs)
    assert done.unasked["toolkits"][0] == "11.0"


def test_differences_name_row_and_tool(tables: Tables) -> None:
    assert told(measured(minimum={"90": "7.7"}), tables) == ["ptx_minimum.csv, 90: ptx is '7.8', ptxas 13.0 says '7.7'"]
    assert told(measured(minimum={"130": "9.0"}), tables) == [
        f"ptx_minimum.csv, 130: ptx is '{NOTHING}', ptxas 13.0 says '9.0'"
    ]
    assert f"toolkits.csv, 14.0: ptx is '{NOTHING}', ptxas 14.0 says '9.0'" in told(measured("14.0"), tables)


def test_a_known_oddity_is_that_answer_and_no_other(tables: Tables) -> None:
    assert told(measured(minimum={"88": "7.3"}), tables) == []
    assert len(told(measured(minimum={"88": "7.4"}), tables)) == 1
    assert len(told(measured("13.1", minimum={"88": "7.3"}), tables)) >= 1


def test_modes_that_a_packer_refuses_are_differences(tables: Tables) -> None:
    lines = told(measured(default="zstd", speed="lz4", balance="zstd", size="lz4", none="none"), tables)
    assert "compression.csv, 13.0 size ptx: codec is 'zstd', libnvfatbin 13.0 says 'lz4'" in lines
    assert f"compression.csv, 13.0 size cubin: codec is 'zstd', libnvfatbin 13.0 says '{NOTHING}'" in lines


def test_errors_are_compared_both_ways(tables: Tables) -> None:
    known = {int(row["code"]): (row["runtime_name"], row["message"]) for row in tables["errors"] if row["runtime_name"]}
    assert all(cell.agrees for cell in error_cells(known, tables["errors"]))
    wrong = {**known, 200: ("cudaErrorInvalidKernelImage", "else"), 1100: ("cudaErrorNew", "new")}
    del wrong[222]
    cells = [cell for cell in error_cells(wrong, tables["errors"]) if not cell.agrees]
    assert sorted({cell.key for cell in cells}) == ["1100", "200", "222"]


def test_cells_are_written_with_source_and_date(tables: Tables, tmp_path: Path) -> None:
    done = compare([measured(minimum={"90": "7.7", "130": "9.0"})], tables)
    written, left = rewrite(done, tables, copied(tmp_path), DATE)
    assert ([cell.key for cell in written], left) == (["90", "130"], [])
    rows = {row["arch"]: row for row in read_table("ptx_minimum", tmp_path / "tables")}
    assert rows["90"] == {"arch": "90", "ptx": "7.7", "source": "m-ptxas", "date": DATE}
    assert rows["130"]["ptx"] == "9.0"
    assert rows["88"]["source"] == "m-ptxas llvm-156857"


def test_what_takes_more_than_a_cell_is_left_and_told(tables: Tables, tmp_path: Path) -> None:
    several = [measured(minimum={"90": "7.7"}), measured("13.1", minimum={"90": "7.8"}), measured("14.0")]
    _, left = rewrite(compare(several, tables), tables, copied(tmp_path), DATE)
    assert any("'7.7' (other tools say otherwise" in words for words in left)
    assert any(words.startswith("toolkits.csv, 14.0") and "add it" in words for words in left)


@pytest.fixture(scope="module")
def asked() -> dict[str, Measurement]:
    return {toolkit: measure(toolkit) for toolkit in OLD_AND_NEW[1::2]}


@pytest.fixture
def once(asked: dict[str, Measurement], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools answer the same each time, so they are asked once."""
    monkeypatch.setattr("tests.regenerate.__main__.measure", asked.__getitem__)


@pytest.mark.network
@pytest.mark.usefixtures("once")
def test_two_toolkits_agree_with_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(OLD_AND_NEW) == 0
    out = capsys.readouterr().out
    assert "toolkits.csv: 9 answers, 9 agree, 0 differ" in out
    assert "compression.csv: 30 answers, 30 agree, 0 differ" in out


@pytest.mark.network
@pytest.mark.usefixtures("once")
def test_wrong_cells_are_told_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = copied(
        tmp_path,
        ("toolkits", "12.8,8.7,50 52 53 60", "12.8,8.7,52 53 60"),
        ("ptx_minimum", "90a,8.0,", "90a,7.8,"),
        ("compression", "13.0,13.5,size,cubin,zstd", "13.0,13.5,size,cubin,lz4"),
        ("errors", "cudaErrorUnsupportedPtxVersion", "cudaErrorUnsupportedPTX"),
    )
    assert main([*OLD_AND_NEW, "--tables", str(wrong)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if " says " in line]
    assert {line.partition(":")[0] for line in lines} == {
        "toolkits.csv, 12.8",
        "ptx_minimum.csv, 90a",
        "compression.csv, 13.4 size cubin",
        "errors.csv, 222",
    }
    assert main([*OLD_AND_NEW, "--tables", str(wrong), "--write"]) == 0
    assert main([*OLD_AND_NEW, "--tables", str(wrong)]) == 0
    for table in TABLES:
        assert without_dates(wrong / f"{table}.csv") == without_dates(FOLDER / f"{table}.csv")


def without_dates(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {column: text for column, text in row.items() if column not in {"date", "source", "confidence"}}
            for row in csv.DictReader(file)
        ]


@pytest.mark.slow
@pytest.mark.network
def test_every_toolkit_agrees_with_the_tables() -> None:
    assert main([]) == 0
