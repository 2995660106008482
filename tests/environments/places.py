"""Virtual environments as pip leaves them: metadata written here around libraries that real tools made."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.rules.forge import Elf, build

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SITE = "lib/python3.11/site-packages"


@dataclass(slots=True)
class Package:
    """A distribution: ``elves`` go into its folder, ``files`` (path → text) anywhere in the site."""

    name: str
    version: str = "1.0"
    elves: list[Elf] = field(default_factory=list)
    folder: str = ""
    files: dict[str, str] = field(default_factory=dict)
    requires: list[str] = field(default_factory=list)
    tag: str = "py3-none-manylinux_2_28_x86_64"
    record: str | None = None
    metadata: str | None = None
    editable: str = ""

    @property
    def info(self) -> str:
        """``torch-2.8.0.dist-info``."""
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    @property
    def place(self) -> str:
        """The folder of its libraries, relative to the site."""
        return self.folder or self.name.replace("-", "_")


def install(package: Package, site: Path) -> Path:
    """Put a distribution into a site and return the folder of its metadata."""
    site.mkdir(parents=True, exist_ok=True)
    (site / package.place).mkdir(parents=True, exist_ok=True)
    made = [build(elf, site / package.place) for elf in package.elves]
    for name, text in package.files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
        made.append(site / name)
    info = site / package.info
    info.mkdir()
    for name, text in _metadata(package).items():
        (info / name).write_text(text)
        made.append(info / name)
    record = "".join(_row(path, site) for path in made) + f"{package.info}/RECORD,,\n"
    (info / "RECORD").write_text(record if package.record is None else package.record)
    return info


def _metadata(package: Package) -> dict[str, str]:
    head = f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {package.version}\n"
    asked = "".join(f"Requires-Dist: {line}\n" for line in package.requires)
    files = {
        "METADATA": f"{head}{asked}\nA long description.\n" if package.metadata is None else package.metadata,
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {package.tag}\n",
        "INSTALLER": "pip\n",
    }
    if package.editable:
        files["direct_url.json"] = json.dumps({"url": f"file://{package.editable}", "dir_info": {"editable": True}})
    return files


def _row(path: Path, site: Path) -> str:
    content = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path.relative_to(site)},sha256={digest},{len(content)}\n"


def environment(folder: Path, packages: Iterable[Package]) -> Path:
    """A virtual environment with these distributions in it."""
    venv = folder / "venv"
    venv.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
    for package in packages:
        install(package, venv / SITE)
    return venv


def wheel(folder: Path, package: Package) -> Path:
    """The same as a wheel."""
    root = folder / f".{package.info}"
    install(package, root)
    out = folder / f"{package.name.replace('-', '_')}-{package.version}-{package.tag}.whl"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in root.rglob("*") if path.is_file() and path.name != "INSTALLER"):
            archive.write(path, str(path.relative_to(root)))
    return out
