from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.matrix.archs import parse_archs, spell_archs
from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch
from pipeline.model.versions import ToolkitVersion
from pipeline.policy import load_policy


def names(text: str) -> list[str]:
    return [arch.cmake for arch in parse_archs(text, ())]


def test_a_bare_number_is_both_kinds() -> None:
    assert names("120") == ["120-real", "120-virtual"]


GENCODE = (
    "-gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90a,code=sm_90a "
    "--generate-code arch=compute_120,code=[sm_120,compute_120]"
)


@pytest.mark.parametrize("text", ["80-real;90a-real;120", "8.0;9.0a;12.0+PTX", "12.0+PTX 8.0 9.0a", GENCODE])
def test_every_dialect_says_the_same(text: str) -> None:
    archs = parse_archs(text, ())
    assert [arch.cmake for arch in archs] == ["80-real", "90a-real", "120-real", "120-virtual"]
    assert spell_archs(archs) == "80-real;90a-real;120"


def test_lists_are_sorted_and_free_of_repetition() -> None:
    assert names("90a-virtual;80-real;90;80-real") == ["80-real", "90-real", "90-virtual", "90a-virtual"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("native", "name the architectures"),
        ("80;native", "name the architectures"),
        ("80;all", "'all' must stand alone"),
        ("80,90", "semicolons"),
        ("80;;90", "empty item"),
        ("80;", "empty item"),
        ("80-ptx", "neither -real nor -virtual"),
        ("80-", "neither -real nor -virtual"),
        ("8.0,9.0", "not an architecture in torch's form"),
        ("9.0a-real", "not an architecture in torch's form"),
        ("sm_80", "not of the form -gencode"),
        ("8.0;90-real", "mixes dialects: '8.0' is torch's and '90-real' is CMake's"),
        ("-gencode arch=compute_80,code=sm_80;90", "mixes dialects"),
        ("80x-real", "not an architecture"),
        (" 80", "not an architecture"),
    ],
)
def test_what_is_in_no_dialect_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_archs(text, ())


def test_all_and_all_major_mean_what_nvcc_13_means() -> None:
    """Measured: ``nvcc --dryrun -arch=all`` and ``-arch=all-major`` of 13.0.88."""
    emitted = load_policy().toolkit(ToolkitVersion("13.0.2")).archs
    assert spell_archs(parse_archs("all-major", emitted)) == "75-real;80-real;90-real;100-real;110-real;120"
    everything = [arch.number for arch in parse_archs("all", emitted) if arch.kind is ArchKind.REAL]
    assert everything == [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]
    assert [arch.cmake for arch in parse_archs("all", emitted) if arch.kind is ArchKind.VIRTUAL] == ["120-virtual"]


def test_all_of_an_unknown_toolkit_is_refused() -> None:
    with pytest.raises(ValueError, match="toolkit that the policy tables know"):
        parse_archs("all", ())


archs = st.builds(TargetArch, st.integers(10, 999), st.sampled_from(list(ArchSuffix)), st.sampled_from(list(ArchKind)))


@given(st.sets(archs, min_size=1, max_size=6))
def test_spelling_and_parsing_are_inverses(wanted: set[TargetArch]) -> None:
    assert parse_archs(spell_archs(sorted(wanted)), ()) == tuple(sorted(wanted))
