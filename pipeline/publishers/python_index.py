"""A Python package index: wheels uploaded by twine, each looked for before, and read back after.

An index has no drafts: wheels become public one after the other. So everything is compared before the first is sent, a
file that is there with other bytes stops the publication, and whatever interrupted it, a rerun sends what is missing.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, Refused, UsageError
from pipeline.model.paths import printable
from pipeline.publishers.released import printable_address
from pipeline.publishers.staging import check_names, copied

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.gate import Approved
    from pipeline.publishers.staging import ReleaseFile

_TIMEOUT = 60.0  # seconds without a byte


@dataclass(frozen=True, slots=True)
class PythonIndex:
    """An index: where files are uploaded to, where its simple API is, and as whom (``__token__`` for an API token)."""

    upload_url: str
    simple_url: str
    username: str
    password: str

    def preflight(self) -> None:
        """``InfrastructureError`` when the index does not answer. What a token may do shows only in an upload."""
        with _index_errors(self.simple_url):
            self._listed("cubingate-preflight")

    def publish(self, approved: Sequence[Approved]) -> str:
        """Upload the wheels that are not there yet, and read all of them back.

        ``Refused`` when there is none, ``UsageError`` for a bundle that is no wheel or is there with other bytes,
        ``InfrastructureError`` when the index fails or hands out something else than was sent.
        """
        check_names([item.artifact.path.name for item in approved])
        others = [item.artifact.path.name for item in approved if item.artifact.path.suffix != ".whl"]
        if others:
            raise UsageError(f"an index takes wheels, not {', '.join(others)}", remedy="choose another destination")
        if not approved:
            raise Refused("no lane is approved: there is nothing to release")
        with tempfile.TemporaryDirectory(prefix="cubingate-") as scratch, _index_errors(self.upload_url):
            files = copied(Path(scratch), approved)
            missing = [file for file in files if not self._is_there(file)]
            for file in missing:
                self._send(file)
            lost = [file.name for file in files if not self._is_there(file)]
        if lost:
            raise InfrastructureError(f"the index does not list what was uploaded: {', '.join(lost)}")
        return printable_address(self.simple_url)

    def _is_there(self, file: ReleaseFile) -> bool:
        """Whether the index has the file; ``UsageError`` when it hands out other bytes under that name."""
        import hashlib

        import requests

        url = self._listed(file.name.partition("-")[0]).get(file.name)
        if url is None:
            return False
        digest, size = hashlib.sha256(), 0
        with requests.get(url, stream=True, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_content(1 << 20):
                digest.update(chunk)
                size += len(chunk)
                if size > file.size:
                    break  # it is other bytes, however many there are
        if digest.hexdigest() != file.sha256:
            raise UsageError(
                f"the index has {file.name} with other bytes, and files there are never replaced",
                remedy="publish another version",
            )
        return True

    def _listed(self, project: str) -> dict[str, str]:
        """File name → address of what the index has of a project; none of a project that it does not know."""
        from pypi_simple import NoSuchProjectError, PyPISimple

        from pipeline.publishers.connection import bound

        with PyPISimple(self.simple_url) as index:
            index.s.hooks["response"].append(bound)
            try:
                page = index.get_project_page(project, timeout=_TIMEOUT)
            except NoSuchProjectError:
                return {}
        return {package.filename: package.url for package in page.packages}

    def _send(self, file: ReleaseFile) -> None:
        from twine.commands.upload import upload
        from twine.settings import Settings

        settings = Settings(
            repository_url=self.upload_url,
            username=self.username,
            password=self.password,
            non_interactive=True,
            disable_progress_bar=True,
            config_file="/dev/null",  # nobody's .pypirc has a say
        )
        with contextlib.redirect_stdout(io.StringIO()):  # data alone goes to stdout
            upload(settings, [str(file.path)])


@contextlib.contextmanager
def _index_errors(place: str) -> Iterator[None]:
    """What twine and requests raise, by kind: their words may repeat an address with a password or signature in it."""
    from zipfile import BadZipFile

    import requests
    from pypi_simple.errors import UnsupportedContentTypeError, UnsupportedRepoVersionError
    from twine.exceptions import InvalidDistribution, TwineException

    host = place.partition("//")[2].partition("/")[0].rpartition("@")[2]
    try:
        yield
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "an error"
        if status in {401, 403}:
            raise UsageError(
                f"{host} answers {status}", remedy="the token is expired, or not for this project"
            ) from None
        raise InfrastructureError(f"{host} answers {status}", remedy="publish again: what was sent is kept") from None
    except (requests.RequestException, UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
        raise InfrastructureError(f"{host} cannot be reached: {type(error).__name__}", remedy="publish again") from None
    except (ValueError, RecursionError):  # of pages, and of addresses in them, that are none
        raise InfrastructureError(f"{host} answers something other than an index does") from None
    except (InvalidDistribution, BadZipFile) as error:
        raise UsageError(f"twine refuses what is no wheel: {printable(str(error))}") from None
    except TwineException as error:
        raise UsageError(
            f"twine refuses: {type(error).__name__}", remedy=f"check the address of {host} in upload:"
        ) from None
