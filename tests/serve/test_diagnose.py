from __future__ import annotations

import pytest

from pipeline.serve.diagnose import deciding_error, diagnose, nothing_named, port_taken
from pipeline.stages.smoke import error_finder

# What ggml prints before it aborts (llama.cpp, ggml/src/ggml-cuda/ggml-cuda.cu, ggml_cuda_error).
GGML = """ggml_cuda_compute_forward: MUL_MAT failed
CUDA error: {}
  current device: 0, in function ggml_cuda_compute_forward at ggml-cuda.cu:2366
  err
"""


find = error_finder()


def cuda_error(log: str) -> str | None:
    error = deciding_error(log, find)
    return error.name if error else None


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("no kernel image is available for execution on the device", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("device kernel image is invalid", "CUDA_ERROR_INVALID_IMAGE"),
        ("the provided PTX was compiled with an unsupported toolchain.", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        ("out of memory", "CUDA_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_the_driver_s_sentence_names_the_error(sentence: str, name: str) -> None:
    assert cuda_error(GGML.format(sentence)) == name


def test_the_error_that_aborts_decides_over_what_came_before_and_after() -> None:
    log = "no CUDA-capable device is detected\n" + GGML.format("device kernel image is invalid") + "cudaErrorUnknown\n"
    assert cuda_error(log) == "CUDA_ERROR_INVALID_IMAGE"


def test_without_an_abort_the_last_named_error_counts() -> None:
    assert cuda_error("cudaErrorInvalidValue\nthen CUDA_ERROR_ILLEGAL_ADDRESS") == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_sentences_of_other_software_are_not_cuda_s() -> None:
    assert cuda_error("std::bad_alloc: out of memory\noperation not supported on socket\nall is well") is None


def test_a_diagnosis_explains_and_shows_control_characters() -> None:
    diagnosis = diagnose("\x1b[31m" + GGML.format("device kernel image is invalid"), find)
    assert diagnosis.cuda_error == "CUDA_ERROR_INVALID_IMAGE"
    assert diagnosis.explanation
    assert "\x1b" not in diagnosis.log_tail
    assert diagnose("all is well", find).explanation is None
    assert diagnose(GGML, nothing_named).cuda_error is None


@pytest.mark.parametrize(
    "log",
    [
        "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080",
        "OSError: [Errno 98] Address already in use",
    ],
)
def test_a_taken_port_is_recognized(log: str) -> None:
    assert port_taken(log)
    assert not port_taken("main: server is listening on http://127.0.0.1:8080")
