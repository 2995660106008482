"""A driver's own JIT library instead of ptxas: the real ones where they are named, a stand-in for its bad behaviour."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import UsageError
from pipeline.model.finding import Verdict
from pipeline.policy import Policy, load_policy
from pipeline.rehearse.program import JitLibrary
from pipeline.rehearse.running import Limits
from pipeline.rules.assembly import Ending
from pipeline.stages.assemblers import LIBRARIES, libraries_of
from tests import toolchain
from tests.rehearse.assemblers import SETTINGS, audited, only, ptx
from tests.rehearse.test_twins import FEATURES, shared

if TYPE_CHECKING:
    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network

STAND_IN = """
/* A stand-in for a driver's JIT library, not NVIDIA's: it looks for words in the text. */
#include <signal.h>
#include <string.h>
#include <stdlib.h>
static const unsigned char cubin[] = {%s};
static const char *text, *words = "";
int nvPTXCompilerCreate(void **handle, size_t size, const char *given) { *handle = 0; text = given; return 0; }
int nvPTXCompilerCompile(void *handle, int count, const char *const *options) {
    if (strstr(text, "crash")) raise(SIGSEGV);
    if (strstr(text, "hang")) for (;;) ;
    if (!strstr(text, "tanh")) return 0;
    words = "ptxas application ptx input, line 8; error   : Feature 'tanh' requires .target sm_75 or higher";
    return 3;
}
int nvPTXCompilerGetErrorLogSize(void *handle, size_t *size) { *size = strlen(words); return 0; }
int nvPTXCompilerGetErrorLog(void *handle, char *log) { strcpy(log, words); return 0; }
int nvPTXCompilerGetInfoLogSize(void *handle, size_t *size) { *size = 0; return 0; }
int nvPTXCompilerGetInfoLog(void *handle, char *log) { return 0; }
int nvPTXCompilerGetCompiledProgramSize(void *handle, size_t *size) { *size = sizeof cubin; return 0; }
int nvPTXCompilerGetCompiledProgram(void *handle, void *program) { memcpy(program, cubin, sizeof cubin); return 0; }
"""
REAL = tuple(JitLibrary.at(path) for path in libraries_of(os.environ))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> JitLibrary:
    folder = tmp_path_factory.mktemp("library")
    code = toolchain.ptxas("12.2", "sm_61", ptx(""))
    (folder / "jit.c").write_text(STAND_IN % ",".join(map(str, code)))
    made = folder / "libnvidia-ptxjitcompiler.so.535.288.01"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), "jit.c"], cwd=folder, check=True)
    (folder / "libnvidia-ptxjitcompiler.so.1").symlink_to(made.name)
    return JitLibrary.at(folder / "libnvidia-ptxjitcompiler.so.1")


def rehearsed(folder: Path, text: str, target: str, policy: Policy, *libraries: JitLibrary) -> AuditReport:
    (folder / "k.ptx").write_text(text)
    settings = replace(SETTINGS, libraries=libraries, limits=Limits(seconds=1))
    return audited(folder / "k.ptx", target, policy, settings)


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("", Ending.ACCEPTED),
        ("tanh.approx.f32 %f1, %f2;", Ending.REFUSED),
        ("// crash", Ending.CRASHED),
        ("// hang", Ending.TIME_LIMIT),
    ],
)
def test_it_is_asked_in_a_process_of_its_own(
    body: str, ending: Ending, library: JitLibrary, tmp_path: Path, policy: Policy
) -> None:
    report = rehearsed(tmp_path, ptx(body), "61@535", policy, library)
    assert only(report).ending is ending
    assert report.rehearsal is not None
    assembler = report.rehearsal.targets[0].assembler
    assert assembler is not None
    assert (assembler.words, assembler.reads) == ("JIT library 535.288.01", "8.2")
    verdicts = {Ending.ACCEPTED: Verdict.PASS, Ending.REFUSED: Verdict.FAIL}
    assert report.targets[0].verdict is verdicts.get(ending, Verdict.UNKNOWN)


def test_another_branch_is_left_to_ptxas(library: JitLibrary, tmp_path: Path, policy: Policy) -> None:
    report = rehearsed(tmp_path, ptx("// crash"), "61@550", policy, library)
    assert report.rehearsal is not None
    assembler = report.rehearsal.targets[0].assembler
    assert assembler is not None
    assert assembler.name == "ptxas 12.4.131"


def test_a_file_that_says_of_no_driver_what_it_is(tmp_path: Path) -> None:
    for name in ("libnvidia-ptxjitcompiler.so", "libcuda.so.535.288.01", "libnvidia-ptxjitcompiler.so.535.288.01"):
        with pytest.raises(UsageError):
            JitLibrary.at(tmp_path / name)
    assert libraries_of({LIBRARIES: f"/a{os.pathsep}/b{os.pathsep}"}) == (Path("/a"), Path("/b"))


@pytest.mark.skipif(not REAL, reason=f"{LIBRARIES} names no driver's JIT library; they are in no registry")
@pytest.mark.parametrize("real", REAL, ids=lambda real: str(real.driver))
def test_drivers_answer_as_ptxas_does(real: JitLibrary, tmp_path: Path, policy: Policy) -> None:
    texts = [(ptx(item.body, version=item.version), item.lacking) for item in FEATURES.values()]
    texts += [(ptx(item.body, version=item.version, target="sm_70"), item.having) for item in FEATURES.values()]
    texts += [(shared(48 << 10, "sm_60"), "61@535"), (shared((48 << 10) + 4, "sm_60"), "61@535")]
    for text, gpu in texts:
        target = f"{gpu.partition('@')[0] or '80'}@{real.driver}"
        theirs, ours = (rehearsed(tmp_path, text, target, policy, *by) for by in ((real,), ()))
        assert theirs.targets[0].verdict is ours.targets[0].verdict, (text, target)
        assert theirs.targets[0].causes == ours.targets[0].causes
