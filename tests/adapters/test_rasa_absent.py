"""Without a Rasa that works, importing the adapter says what to install."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from queen_sdk.errors import MissingExtraError


@pytest.fixture(autouse=True)
def _not_imported_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "queen_adapters.rasa", raising=False)


@pytest.mark.parametrize("installed", [None, "2.8.34", "3.5.17", "3.7.0"])
def test_the_pip_command_is_told(monkeypatch: pytest.MonkeyPatch, installed: str | None) -> None:
    def version(distribution: str) -> str:
        if installed is None:
            raise PackageNotFoundError(distribution)
        return installed

    monkeypatch.setattr("queen_adapters.frame.version", version)
    with pytest.raises(MissingExtraError, match=r"pip install 'queen-sdk\[rasa\]'") as caught:
        importlib.import_module("queen_adapters.rasa")
    assert (installed or "is not installed") in str(caught.value)
    assert ("Python 3.10" in str(caught.value)) == (sys.version_info >= (3, 11))
