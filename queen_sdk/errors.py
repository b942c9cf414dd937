"""Everything this package raises on purpose.

QueenError
├── UsageError                   the caller must change something
│   ├── InvalidArgumentError     an argument is of the wrong type or out of range (also ValueError)
│   ├── UnknownBundleError       no bundle of that name or language, or no such directory
│   └── MissingExtraError        an optional dependency is not installed (also ImportError)
├── BundleError                  a model bundle cannot be used
│   ├── NotABundleError          the directory does not hold a bundle
│   ├── DamagedBundleError       a file is missing, altered or unreadable
│   ├── NewerBundleError         made by a newer release than this one
│   └── ParserError              its parser is not to be had, or is not the one it was trained with
├── ProviderError                a requested execution provider is not to be had
├── ClosedError                  the rewriter was closed
├── InferenceError               ONNX Runtime failed on valid input
├── QueueFullError               too many calls are waiting already
├── DeadlineError                a call was not done in its time (also TimeoutError)
├── StoreError                   a session store cannot be used
│   ├── UnavailableStoreError    it cannot be reached, is locked or is full; later it may work
│   ├── DamagedStoreError        what it holds cannot be read
│   └── NewerStoreError          written by a newer release than this one
├── RemoteError                  a queen server cannot be reached, or answers something else
└── DataError                    a corpus file is not in the format that was asked for
"""

from __future__ import annotations


class QueenError(Exception):
    """Base of all errors of this package."""


class UsageError(QueenError):
    """The caller must change something; retrying as it is will not help."""


class InvalidArgumentError(UsageError, ValueError):
    """An argument is of the wrong type or out of range."""


class UnknownBundleError(UsageError):
    """No bundle of that name or language, and no such directory."""


class MissingExtraError(UsageError, ImportError):
    """An optional dependency is not installed."""


class BundleError(QueenError):
    """A model bundle cannot be used."""


class NotABundleError(BundleError):
    """The directory does not hold a bundle."""


class DamagedBundleError(BundleError):
    """A file of the bundle is missing, altered or unreadable."""


class NewerBundleError(BundleError):
    """The bundle was made by a newer release than this one."""


class ParserError(BundleError):
    """The parser that a bundle was trained with is not to be had, or is another one now."""


class ProviderError(QueenError):
    """A requested execution provider is not to be had here."""


class ClosedError(QueenError):
    """The rewriter was closed before this call."""


class InferenceError(QueenError):
    """ONNX Runtime failed on valid input."""


class QueueFullError(QueenError):
    """Too many calls are waiting already."""


class DeadlineError(QueenError, TimeoutError):
    """A call was not done in its time."""


class StoreError(QueenError):
    """A session store cannot be used."""


class UnavailableStoreError(StoreError):
    """The store cannot be reached, is locked or is full; later it may work again."""


class DamagedStoreError(StoreError):
    """What the store holds cannot be read."""


class NewerStoreError(StoreError):
    """The store was written by a newer release than this one."""


class RemoteError(QueenError):
    """A queen server cannot be reached, or answers something else than a result."""


class DataError(QueenError):
    """A corpus file is not in the format that was asked for."""


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """Return the error for an absent optional package, with the line that installs it."""
    return MissingExtraError(
        f"{package} is not installed; it comes with: pip install 'queen-sdk[{extra}]'"
    )
