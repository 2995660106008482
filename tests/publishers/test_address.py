"""A password goes to an index by https, to this machine, or where matrix.yaml says that the clear will do."""

from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.model.lane import Publisher
from pipeline.publishers.destination import destination
from pipeline.publishers.python_index import PythonIndex

SAFE = "https://index.example.org/simple/"


def index(upload: str, simple: str, *, insecure: bool = False) -> PythonIndex:
    publisher = Publisher("pypi", "python-index", upload, partial=False, simple=simple, insecure=insecure)
    found = destination(publisher, {"TWINE_PASSWORD": "pypi-MARKERTOKEN"})
    assert isinstance(found, PythonIndex)
    return found


@pytest.mark.parametrize(
    "address",
    [
        "http://index.example.org/",
        "http://127.0.0.1.example.org/",
        "http://localhost@example.org/",
        "http://example.org\\@localhost/",
        "http://example.org#@localhost/",
        "HTTP://index.example.org/",
        "http://10.0.0.1:8080",
    ],
)
def test_an_index_in_the_clear_is_refused(address: str) -> None:
    for upload, simple, told in ((address, SAFE, "upload:"), (SAFE, address, "simple:")):
        with pytest.raises(UsageError, match=f"pypi: {told} would be in the clear") as caught:
            index(upload, simple)
        assert "MARKER" not in f"{caught.value}"
        assert index(upload, simple, insecure=True).upload_url == upload


@pytest.mark.parametrize(
    "address",
    [SAFE, "http://127.0.0.1:8080/", "http://localhost", "http://[::1]:80/x", "http://user:secret@127.0.0.1/"],
)
def test_https_and_this_machine_are_not(address: str) -> None:
    assert index(address, address).simple_url == address
