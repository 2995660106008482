from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.evidence.scope import scope_of
from pipeline.matrix.load import load_plan
from pipeline.matrix.mistakes import MatrixMistakes
from pipeline.model.jit import JitLanguage, JitOutput
from tests.matrix.files import CUDA, HEAD

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.lane import Lane

TRITON = (
    '  triton: {wheel: triton, version: "3.5.1", filename: triton-3.5.1-cp311-cp311-linux_x86_64.whl, sha256: "'
    + "1" * 64
    + '"}\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.cu", "b.cu", "k.py", "include/tile.h"):
        (tmp_path / "kernels" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kernels" / name).write_text(f"// {name}\n")
    return tmp_path


def lane(folder: Path, sources: str, names: str = "x") -> Lane:
    head = HEAD.replace("base_images:", f"{TRITON}base_images:")
    sources = "".join(f"  {line}\n" for line in sources.splitlines())
    text = f"{head}jit_sources:\n{sources}matrix:\n  include:\n    - {CUDA[:-1]}, jit_sources: [{names}]}}\n"
    (folder / "matrix.yaml").write_text(text)
    return load_plan(folder / "matrix.yaml").lanes[0]


def mistakes(folder: Path, sources: str) -> str:
    with pytest.raises(MatrixMistakes) as wrong:
        lane(folder, sources)
    return str(wrong.value)


def test_a_source_with_everything(folder: Path) -> None:
    (source,) = lane(
        folder,
        'x: {language: cuda, files: ["kernels/*.cu"], include: [kernels/include], headers: [cudart, cccl], '
        'toolkits: ["12.6", "13.0"], defines: {HEAD_DIM: "128"}, options: [--use_fast_math], output: ptx, '
        'instances: ["attention<float, 128>"], dynamic_shared: 96 KiB, from_sm: 70, up_to_sm: 90, '
        "arch_suffix: a, time_limit: 30, memory_limit: 2 GiB}",
    ).jit_sources
    assert source.language is JitLanguage.CUDA
    assert source.output is JitOutput.PTX
    assert source.files == ("kernels/a.cu", "kernels/b.cu")
    assert [str(version) for version in source.toolkits] == ["12.6", "13.0"]
    assert (source.dynamic_shared, source.time_limit, source.memory_limit) == (96 << 10, 30, 2 << 30)
    assert [source.serves(sm) for sm in (61, 70, 90, 100)] == [False, True, True, False]


def test_the_lanes_toolkit_compiles_where_the_source_names_none(folder: Path) -> None:
    found = lane(folder, "x: {language: cuda, files: [kernels/a.cu]}")
    assert [str(version) for version in found.jit_sources[0].toolkits] == ["12.8.1"]


def test_each_target_has_to_be_compiled_for(folder: Path) -> None:
    found = lane(folder, "x: {language: cuda, files: [kernels/a.cu]}")
    assert "jit@80@535.288.01" in found.required


def test_a_triton_source(folder: Path) -> None:
    (source,) = lane(
        folder,
        "x: {language: triton, files: [kernels/k.py], triton: triton, entry: k, "
        'signature: {x: "*fp16", n: i32, B: constexpr}, constants: {B: "64"}, stubs: [torch], options: [num_warps=4]}',
    ).jit_sources
    assert source.triton is not None
    assert source.triton.version == "3.5.1"
    assert source.signature == {"x": "*fp16", "n": "i32", "B": "constexpr"}


def test_evidence_is_for_these_contents_only(folder: Path) -> None:
    text = "x: {language: cuda, files: [kernels/a.cu], include: [kernels/include]}"
    before = scope_of(lane(folder, text), "jit@80@535.288.01")
    assert scope_of(lane(folder, text), "jit@80@535.288.01") == before
    (folder / "kernels/include/tile.h").write_text("#define TILE 64\n")
    assert scope_of(lane(folder, text), "jit@80@535.288.01") != before


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x: {language: cuda, files: [kernels/c.cu]}", "no file kernels/c.cu"),
        ("x: {language: hip, files: [kernels/a.cu]}", "'hip' is not one of cuda, triton"),
        ("x: {language: cuda, files: []}", "an empty list"),
        ("x: {language: cuda, files: [../a.cu]}", "is not a relative path"),
        ("x: {language: ptx, files: [kernels/a.cu], include: [kernels]}", "'include' means nothing for ptx"),
        ("x: {language: triton, files: [kernels/k.py], entry: k, signature: {n: i32}}", "has no 'triton'"),
        (
            "x: {language: triton, files: [kernels/k.py], triton: bundle, entry: k, signature: {n: i32}}",
            "'bundle' is no wheel",
        ),
        (
            "x: {language: triton, files: [kernels/k.py], triton: triton, entry: k, signature: {B: constexpr}}",
            "B: constexpr in 'signature' and a value in 'constants' go together",
        ),
        ("y: {language: cuda, files: [kernels/a.cu]}", "'x' is not in 'jit_sources'"),
    ],
)
def test_what_makes_no_sense_is_a_mistake_with_its_place(folder: Path, source: str, said: str) -> None:
    told = mistakes(folder, source)
    assert said in told
    assert "matrix.yaml:" in told
