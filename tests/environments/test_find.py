"""Distributions of an environment: whose files are whose, and every way in which metadata can be wrong."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pipeline import binary
from pipeline.audit import run_audit
from pipeline.environments import distributions_of
from pipeline.errors import InfrastructureError
from pipeline.inventory import folder, take_inventory
from pipeline.model.finding import Verdict
from pipeline.policy import Policy, load_policy
from tests.environments.places import SITE, Package, environment, install, wheel
from tests.rules.forge import Elf, container
from tests.rules.saved import save_image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.audit.report import AuditReport, DistributionReport
    from pipeline.binary import View
    from pipeline.model.distribution import Distribution

pytestmark = pytest.mark.network
TARGET = "61@535"


def good(name: str = "dense", folder_name: str = "") -> Package:
    return Package(name, "1.0", [Elf(f"lib{name}.so", [container("12.0", "61 80")])], folder_name)


def poor(name: str = "moe", folder_name: str = "") -> Package:
    """A distribution without anything for sm_61."""
    return Package(name, "2.0", [Elf(f"lib{name}.so", [container("12.0", "70 80")])], folder_name)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def audited(path: Path, policy: Policy, *targets: str) -> AuditReport:
    return run_audit([path], [policy.parse_target(target) for target in targets or (TARGET,)], policy)


def named(report: AuditReport, name: str) -> DistributionReport:
    (found,) = [item for item in report.distributions if item.distribution.name == name]
    return found


def found(path: Path, name: str) -> Distribution:
    (item,) = [item for item in distributions_of(take_inventory(path)) if item.name == name]
    return item


def test_the_distribution_that_fails_is_named_and_its_neighbour_is_not(tmp_path: Path, policy: Policy) -> None:
    report = audited(environment(tmp_path, [good(), poor()]), policy)
    assert [item.distribution.label for item in report.distributions] == ["moe 2.0", "dense 1.0"]
    assert named(report, "moe").verdicts[0].verdict is Verdict.FAIL
    assert named(report, "moe").verdicts[0].causes == ("arch-missing",)
    assert named(report, "dense").verdicts[0].verdict is Verdict.PASS


def test_two_distributions_share_a_folder(tmp_path: Path, policy: Policy) -> None:
    """As NVIDIA's do: RECORD says whose file is whose."""
    report = audited(environment(tmp_path, [good(folder_name="nvidia/cu12"), poor(folder_name="nvidia/cu12")]), policy)
    assert named(report, "moe").verdicts[0].verdict is Verdict.FAIL
    assert named(report, "dense").verdicts[0].verdict is Verdict.PASS


def test_an_environment_in_an_image_is_found_across_its_layers(tmp_path: Path, policy: Policy) -> None:
    install(good(), tmp_path / "one" / "opt/venv" / SITE)
    install(poor(), tmp_path / "two" / "opt/venv" / SITE)
    # The second layer replaces a library of the first one's distribution: it still belongs to that.
    (tmp_path / "two/opt/venv" / SITE / "dense").mkdir()
    shutil.copy(
        tmp_path / "two/opt/venv" / SITE / "moe/libmoe.so", tmp_path / "two/opt/venv" / SITE / "dense/libdense.so"
    )
    report = audited(save_image([tmp_path / "one", tmp_path / "two"], tmp_path / "image.tar", {}), policy)
    assert named(report, "dense").verdicts[0].verdict is Verdict.FAIL
    assert named(report, "dense").distribution.environment == named(report, "moe").distribution.environment


def test_a_wheel_is_a_distribution(tmp_path: Path, policy: Policy) -> None:
    report = audited(wheel(tmp_path, poor()), policy)
    assert [item.distribution.label for item in report.distributions] == ["moe 2.0"]


# what is wrong with metadata: told, and the files are judged all the same


def no_record(info: Path) -> None:
    (info / "RECORD").unlink()


def broken_record(info: Path) -> None:
    (info / "RECORD").write_text("\0\0nonsense\nmoe/libmoe.so\n,,\n")


def binary_record(info: Path) -> None:
    (info / "RECORD").write_bytes(bytes(range(256)) * 64)


def empty_record(info: Path) -> None:
    (info / "RECORD").write_text("")


def no_metadata(info: Path) -> None:
    (info / "METADATA").unlink()


def empty_metadata(info: Path) -> None:
    (info / "METADATA").write_text("Summary: nobody\n\n")


def deep_direct_url(info: Path) -> None:
    (info / "direct_url.json").write_text("[" * 200_000)


@pytest.mark.parametrize(
    "harm",
    [no_record, broken_record, binary_record, empty_record, no_metadata, empty_metadata, deep_direct_url],
    ids=lambda harm: harm.__name__,
)
def test_broken_metadata_is_told_and_hides_nothing(
    tmp_path: Path, policy: Policy, harm: Callable[[Path], None]
) -> None:
    venv = environment(tmp_path, [good(), poor()])
    harm(venv / SITE / "moe-2.0.dist-info")
    report = audited(venv, policy)
    assert named(report, "moe").distribution.version == "2.0"
    assert named(report, "moe").distribution.flaws
    assert named(report, "moe").verdicts[0].verdict is Verdict.FAIL
    assert named(report, "dense").verdicts[0].verdict is Verdict.PASS
    assert any(item.rule == "distribution-unread" and item.severity == "warning" for item in report.findings)


def test_files_without_any_metadata_are_told_by_their_folder(tmp_path: Path, policy: Policy) -> None:
    venv = environment(tmp_path, [good(), poor()])
    shutil.rmtree(venv / SITE / "moe-2.0.dist-info")
    report = audited(venv, policy)
    assert not named(report, "moe").distribution.claimed
    assert named(report, "moe").verdicts[0].verdict is Verdict.FAIL


def test_libraries_that_are_gone_are_told(tmp_path: Path) -> None:
    venv = environment(tmp_path, [good()])
    (venv / SITE / "dense" / "libdense.so").unlink()
    assert "RECORD lists 1 libraries that are not there" in found(venv, "dense").flaws[0]


# what is not read is never passed over in silence


def test_an_editable_installation_is_unknown_until_its_folder_is_audited_too(tmp_path: Path, policy: Policy) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "code.py").write_text("pass\n")
    venv = environment(tmp_path, [good(), Package("product", editable=str(source))])
    target = [policy.parse_target(TARGET)]
    alone, together = run_audit([venv], target, policy), run_audit([venv, source], target, policy)
    assert alone.verdict is Verdict.UNKNOWN
    assert str(source) in named(alone, "product").distribution.unread[0]
    assert together.verdict is Verdict.PASS


@pytest.mark.parametrize("url", ["file://[::1/app", "https://[::1/app", "", "app"])
def test_a_url_that_is_none_is_an_editable_installation_all_the_same(tmp_path: Path, url: str) -> None:
    venv = environment(tmp_path, [good()])
    said = json.dumps({"url": url, "dir_info": {"editable": True}})
    (venv / SITE / "dense-1.0.dist-info" / "direct_url.json").write_text(said)
    assert "an editable installation" in found(venv, "dense").unread[0]


def test_an_egg_link_is_an_editable_installation(tmp_path: Path) -> None:
    venv = environment(tmp_path, [good()])
    (venv / SITE / "old.egg-link").write_text("/src/old\n.")
    assert "/src/old" in found(venv, "old").unread[0]


@pytest.mark.parametrize("packed", [True, False], ids=["archive", "folder"])
def test_an_egg_is_a_distribution_of_its_own(tmp_path: Path, policy: Policy, packed: bool) -> None:
    venv = environment(tmp_path, [good()])
    source = environment(tmp_path / "other", [poor()]) / SITE
    egg = venv / SITE / "moe-2.0-py3.11.egg"
    if packed:
        with zipfile.ZipFile(egg, "w") as archive:
            archive.write(source / "moe" / "libmoe.so", "moe/libmoe.so")
            archive.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.1\nName: moe\nVersion: 2.0\n")
    else:
        shutil.copytree(source / "moe", egg / "moe")
        (egg / "EGG-INFO").mkdir()
        (egg / "EGG-INFO" / "PKG-INFO").write_text("Metadata-Version: 1.1\nName: moe\nVersion: 2.0\n")
    report = audited(venv, policy)
    assert named(report, "moe").verdicts[0].verdict is Verdict.FAIL
    assert named(report, "moe").distribution.environment == named(report, "dense").distribution.environment


def test_a_linked_site_packages_is_not_passed_over(tmp_path: Path, policy: Policy) -> None:
    venv = environment(tmp_path, [good()])
    outside = tmp_path / "elsewhere"
    (venv / SITE).rename(outside)
    (venv / SITE).symlink_to(outside)
    report = audited(venv, policy)
    assert report.verdict is not Verdict.PASS
    assert str(outside) in named(report, "site-packages").distribution.unread[0]


def test_libraries_behind_links_out_of_the_environment_are_unknown(tmp_path: Path, policy: Policy) -> None:
    """As an installer leaves them that links into its own cache."""
    venv = environment(tmp_path, [good(), good("other")])
    library = venv / SITE / "dense" / "libdense.so"
    library.rename(tmp_path / "cached.so")
    library.symlink_to(tmp_path / "cached.so")
    report = audited(venv, policy)
    assert report.verdict is Verdict.UNKNOWN
    assert "links out of the input" in named(report, "dense").distribution.unread[0]
    assert not named(report, "other").distribution.unread


WAYS = (
    ("ROOT/other/venv/lib/python3.11/site-packages", Verdict.UNKNOWN),
    ("../../../../other/venv/lib/python3.11/site-packages", Verdict.UNKNOWN),
    ("ROOT/venv/src/app", Verdict.PASS),
    ("./dense/inner", Verdict.PASS),
    ("import sys; sys.dont_write_bytecode = True", Verdict.PASS),
)


def test_a_package_that_is_only_a_link_is_not_passed_over(tmp_path: Path, policy: Policy) -> None:
    venv = environment(tmp_path, [good()])
    other = environment(tmp_path / "other", [poor()])
    for name in ("moe", "moe-2.0.dist-info"):
        (venv / SITE / name).symlink_to(other / SITE / name)
    report = audited(venv, policy)
    assert report.verdict is Verdict.UNKNOWN
    assert str(other) in named(report, "moe").distribution.unread[0]


def test_a_link_to_what_is_no_package_is_none(tmp_path: Path, policy: Policy) -> None:
    venv = environment(tmp_path, [good()])
    (tmp_path / "licence.txt").write_text("")
    (venv / SITE / "dense" / "licence.txt").symlink_to(tmp_path / "licence.txt")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to("/usr/bin/python3")
    assert audited(venv, policy).verdict is Verdict.PASS


def with_system(venv: Path, said: str, home: Path) -> Path:
    (venv / "pyvenv.cfg").write_text(f"home = {home}/bin\nInclude-System-Site-Packages = {said}\nversion = 3.11.2\n")
    return venv


def test_the_systems_packages_are_unknown_until_they_are_audited_too(tmp_path: Path, policy: Policy) -> None:
    system = environment(tmp_path / "system", [poor()])
    venv = with_system(environment(tmp_path, [good()]), "true", system)
    target = [policy.parse_target(TARGET)]
    alone = run_audit([venv], target, policy)
    assert alone.verdict is Verdict.UNKNOWN
    assert str(system) in named(alone, "system site-packages").distribution.unread[0]
    assert run_audit([venv, system / SITE], target, policy).verdict is Verdict.FAIL
    assert run_audit([with_system(venv, "false", system)], target, policy).verdict is Verdict.PASS


@pytest.mark.parametrize("home", ["/bin", "", "python"])
def test_another_environment_beside_it_is_not_the_systems(tmp_path: Path, policy: Policy, home: str) -> None:
    one = environment(tmp_path / "all" / "one", [good()])
    environment(tmp_path / "all" / "two", [good("other")])
    (one / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = true\n")
    assert audited(tmp_path / "all", policy).verdict is Verdict.UNKNOWN


def test_an_image_has_the_systems_packages_in_itself(tmp_path: Path, policy: Policy) -> None:
    with_system(environment(tmp_path / "tree" / "opt", [good()]), "true", tmp_path)
    assert audited(save_image([tmp_path / "tree"], tmp_path / "image.tar", {}), policy).verdict is Verdict.PASS


@pytest.mark.parametrize(("line", "verdict"), WAYS, ids=[line for line, _ in WAYS])
def test_what_a_pth_file_adds_is_read_or_unknown(tmp_path: Path, policy: Policy, line: str, verdict: Verdict) -> None:
    venv = environment(tmp_path, [good()])
    environment(tmp_path / "other", [poor()])
    (venv / SITE / "added.pth").write_text(f"# a comment\n{line.replace('ROOT', str(tmp_path))}\n")
    report = audited(venv, policy)
    assert report.verdict is verdict
    assert (verdict is Verdict.PASS) or "was not read" in named(report, "added.pth").distribution.unread[0]


def test_what_a_pth_file_adds_may_be_audited_in_the_same_run(tmp_path: Path, policy: Policy) -> None:
    venv, other = environment(tmp_path, [good()]), environment(tmp_path / "other", [good("more")])
    (venv / SITE / "added.pth").write_text(f"{other / SITE}\n")
    assert run_audit([venv, other], [policy.parse_target(TARGET)], policy).verdict is Verdict.PASS


def test_links_inside_the_environment_are_healthy(tmp_path: Path, policy: Policy) -> None:
    venv = environment(tmp_path, [good()])
    (venv / "lib64").symlink_to("lib")
    assert audited(venv, policy).verdict is Verdict.PASS


def test_a_distribution_for_another_system_is_named_and_not_judged(tmp_path: Path, policy: Policy) -> None:
    other = Package("elsewhere", tag="cp311-cp311-win_amd64", files={"elsewhere/native.dll": "MZ"})
    report = audited(environment(tmp_path, [good(), other]), policy)
    assert "win_amd64" in named(report, "elsewhere").distribution.unread[0]
    assert report.verdict is Verdict.UNKNOWN


def test_vendored_metadata_is_no_distribution(tmp_path: Path) -> None:
    venv = environment(tmp_path, [good()])
    install(poor("vendored"), venv / SITE / "dense" / "_vendor")
    assert [item.name for item in distributions_of(take_inventory(venv))] == ["dense"]


# an environment that changes while it is read


@pytest.mark.parametrize("how", ["grown", "removed", "added"])
def test_an_environment_that_changes_while_it_is_read_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    venv = environment(tmp_path, [good(), poor()])
    library = venv / SITE / "moe" / "libmoe.so"
    plainly = binary.open_view
    done: list[Path] = []

    def opening(path: Path) -> object:
        if not done:
            done.append(path)
            if how == "grown":
                with library.open("ab") as stream:
                    stream.write(b"more")
            elif how == "removed":
                library.unlink()
            else:
                (venv / SITE / "new.py").write_text("")
        return plainly(path)

    monkeypatch.setattr(folder, "open_view", opening)
    with pytest.raises(InfrastructureError) as refused:
        take_inventory(venv)
    assert "libmoe.so" in refused.value.message or "new.py" in refused.value.message


@pytest.mark.parametrize("size", [0, 64, 1 << 20])
def test_a_file_that_is_cut_while_it_is_open_is_a_change_and_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    venv = environment(tmp_path, [good(), poor()])
    library = venv / SITE / "moe" / "libmoe.so"
    with library.open("ab") as stream:
        stream.truncate(max(2 * size, library.stat().st_size))
    plainly = binary.open_view

    @contextmanager
    def opening(path: Path) -> Iterator[View]:
        with plainly(path) as view:
            if path == library:
                os.truncate(path, size)
            yield view

    monkeypatch.setattr(folder, "open_view", opening)
    with pytest.raises(InfrastructureError, match=r"changed while it was read: .*libmoe\.so"):
        take_inventory(venv)
