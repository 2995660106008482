"""The action's program by itself: how it takes inputs apart, and what it says where it cannot even begin."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.actions.act import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("action_audit", ROOT / ".github/actions/audit/audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


script = _loaded()


def words(**inputs: str) -> list[str]:
    given = {"fail_on": "verdict", **inputs}
    step = script.Step({f"CUBINGATE_{name.upper()}": value for name, value in given.items()})
    result: list[str] = script.arguments(step)
    return result


def refused(**inputs: str) -> tuple[int, str]:
    with pytest.raises(script.Failure) as caught:
        words(**inputs)
    return caught.value.status, caught.value.message


def test_each_line_is_one_path(tmp_path: Path) -> None:
    odd = tmp_path / "x [1].so"
    odd.touch()
    lines = f"a b.so\r\n\n  leading\n-rf\n--output=x\n$(id)\ndocker://a/b:c\n{odd}\n"
    assert words(path=lines) == ["--", "a b.so", "  leading", "-rf", "--output=x", "$(id)", "docker://a/b:c", str(odd)]


def test_a_list_takes_names_with_newlines() -> None:
    assert words(path='["a\\nb", " c d "]') == ["--", "a\nb", " c d "]
    for text in ('["a"', '["a", 1]', '[""]', "[[]]", "[]"):
        assert refused(path=text)[0] == 2


def test_targets_are_taken_apart_at_spaces_commas_and_newlines() -> None:
    assert words(path="a", targets=" 80@535,\n90@580\t,, 61@535 ") == [
        *("--target=80@535", "--target=90@580", "--target=61@535"),
        *("--", "a"),
    ]
    assert words(path="a", targets="--output=x -h") == ["--target=--output=x", "--target=-h", "--", "a"]


def test_other_inputs_are_one_word_each() -> None:
    assert words(path="a", matrix="m y.yaml", lane="--x y", host="glibc=2.31") == [
        *("--matrix=m y.yaml", "--lane=--x y", "--host=glibc=2.31"),
        *("--", "a"),
    ]


def test_patterns(tmp_path: Path) -> None:
    for name in ("b.whl", "a.whl", "sub/c.whl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert words(path=f"{tmp_path}/*.whl")[1:] == [f"{tmp_path}/a.whl", f"{tmp_path}/b.whl"]
    assert len(words(path=f"{tmp_path}/**/*.whl")) == 4
    assert refused(path=f"{tmp_path}/*.so") == (2, f"no file fits '{tmp_path}/*.so'")


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_nothing_is_no_path(text: str) -> None:
    assert refused(path=text) == (2, "the input 'path' names nothing")


def test_another_word_for_fail_on() -> None:
    assert refused(path="a", fail_on="never")[0] == 2


def _target(driver: str | None, reason: str = "ptx-isa") -> dict[str, str | None]:
    return {"minimum_driver": driver, "minimum_driver_reason": reason}


@pytest.mark.parametrize(
    ("targets", "driver"),
    [
        ([], ""),
        ([_target("535.54.03")], "535.54.03"),
        ([_target("535.104.05"), _target("535.54.03"), _target("525.60.13")], "535.104.05"),
        ([_target("580.65.06"), _target(None, "none")], "none"),
        ([_target(None, "unknown"), _target("535.54.03")], "unknown"),
    ],
)
def test_the_driver_on_which_all_of_it_loads(targets: list[dict[str, str | None]], driver: str) -> None:
    assert script.minimum_driver(targets) == driver


def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    with pytest.raises(script.Failure, match="actions/setup-python") as caught:
        script.installed(script.Step({"RUNNER_TEMP": str(tmp_path)}))
    assert caught.value.status == 4


def test_what_cannot_be_installed_judges_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cubingate-action").write_text("in the way of the environment")
    out, summary = tmp_path / "out", tmp_path / "summary"
    given = {"CUBINGATE_PATH": "a", "CUBINGATE_FAIL_ON": "error", "RUNNER_TEMP": str(tmp_path)}
    step = script.Step({**given, "GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary)})
    assert script.main(step) == 4
    assert "::error title=cubingate audit ended with status 4::cubingate cannot be installed" in capsys.readouterr().out
    assert "error" in out.read_text()
    assert "nothing was judged" in summary.read_text()


def test_a_message_is_one_command_and_plain_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = tmp_path / "summary"
    failure = script.Failure(2, "no\n::error::pwned <script>100%</script>")
    script.tell_failure(script.Step({"GITHUB_STEP_SUMMARY": str(summary)}), failure)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("::no%0A::error::pwned <script>100%25</script>")
    assert "<script>" not in summary.read_text()


def test_no_value_sets_another_output(tmp_path: Path) -> None:
    step = script.Step({"GITHUB_OUTPUT": str(tmp_path / "out")})
    step.output("a", "x\nEOF\nverdict=pass\nb<<y")
    name, *lines = (tmp_path / "out").read_text().splitlines()
    assert lines[-1] == name.partition("<<")[2]
    assert lines[:-1] == ["x", "EOF", "verdict=pass", "b<<y"]
    assert json.dumps(lines[-1]) not in json.dumps(lines[:-1])
