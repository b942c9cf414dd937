from __future__ import annotations

from argparse import Namespace

import pytest

from queen_sdk.cli.command import corpus_path
from queen_sdk.errors import InvalidArgumentError


def test_only_corpora_that_the_package_makes_need_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUEEN_DATA", raising=False)
    without = Namespace(path=None)
    assert corpus_path(without, ["followups-en"]) == ""
    with pytest.raises(InvalidArgumentError, match="give --path"):
        corpus_path(without, ["followups-en", "task"])
    assert corpus_path(Namespace(path="data"), ["followups-en", "task"]) == "data"
