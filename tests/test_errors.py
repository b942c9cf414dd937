"""The error tree is what the docstring of its module says."""

from __future__ import annotations

import builtins
import inspect
import pickle
import re

import pytest

from queen_sdk import errors

CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.QueenError)
]


def documented_tree() -> dict[str, tuple[str, str | None]]:
    """Return, for each class of the docstring, its parent and the built-in class it also is."""
    found: dict[str, tuple[str, str | None]] = {}
    path: list[str] = []
    for line in inspect.cleandoc(errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)(\w+Error)\b(?:.*\(also (\w+)\))?", line)
        if match:
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            found[match[2]] = (path[depth - 1] if depth else "Exception", match[3])
    return found


def test_the_docstring_names_every_error_and_no_other() -> None:
    assert documented_tree().keys() == {kind.__name__ for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_stands_where_the_docstring_has_it(kind: type[Exception]) -> None:
    parent, also = documented_tree()[kind.__name__]
    bases = [base.__name__ for base in kind.__bases__]
    assert bases == [parent, also] if also else bases == [parent]
    assert also is None or issubclass(kind, getattr(builtins, also))


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_survive_pickling(kind: type[Exception]) -> None:
    copy = pickle.loads(pickle.dumps(kind("what came, what is allowed")))
    assert type(copy) is kind
    assert str(copy) == "what came, what is allowed"


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = errors.missing_extra("torch", "train")
    assert isinstance(error, ImportError)
    assert str(error) == ("torch is not installed; it comes with: pip install 'queen-sdk[train]'")
