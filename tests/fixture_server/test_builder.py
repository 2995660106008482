from __future__ import annotations

from pathlib import Path

import pytest

from tests import toolchain
from tests.fixture_server import builder

SM_90 = "arch=compute_90,code=sm_90"


def test_the_cpu_server_knows_nothing_of_cuda() -> None:
    assert b"libcuda" not in builder.cpu_server().read_bytes()
    assert "INTERP" not in toolchain.run(["readelf", "--program-headers", "--wide", builder.static_cpu_server()])


@pytest.mark.network
def test_the_cuda_server_has_the_device_code_that_was_asked_for() -> None:
    server = builder.cuda_server([SM_90])
    listed = [line for line in toolchain.cuobjdump(server, "--list-elf") if "sm_" in line]
    assert listed
    assert all("sm_90." in line for line in listed)
    assert toolchain.cuobjdump(server, "--list-ptx") == []


@pytest.mark.network
def test_a_damaged_image_is_no_elf_file_to_nvidia_s_tool_either(tmp_path: Path) -> None:
    builder.damage_image(builder.cuda_server([SM_90]), tmp_path / "llama-server")
    with pytest.raises(toolchain.ToolFailed, match="Invalid ELF"):
        toolchain.cuobjdump(tmp_path / "llama-server", "--list-elf")


@pytest.mark.network
def test_damage_hits_the_machine_code_only(tmp_path: Path) -> None:
    server = builder.cuda_server([SM_90])
    builder.damage_code(server, tmp_path / "llama-server")
    assert (tmp_path / "llama-server").stat().st_size == server.stat().st_size
    listed = toolchain.cuobjdump(tmp_path / "llama-server", "--list-elf")
    assert any("sm_90." in line for line in listed), "the headers still promise sm_90"


def test_the_server_is_never_shipped() -> None:
    root = Path(__file__).parents[2]
    assert not [path for path in (root / "pipeline").rglob("*") if path.suffix in {".cu", ".gguf"}]
