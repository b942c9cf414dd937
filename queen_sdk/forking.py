"""Locks that a forked child finds free, and what they guard whole.

A child has only the thread that forked: a lock that another thread held would stay taken for ever.
So the thread that forks takes all locks that are known here first, and frees them on both sides.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Locked(Protocol):
    """Something with a lock, held for moments only and never while its owner forks."""

    _lock: threading.Lock


_KNOWN: weakref.WeakSet[Locked] = weakref.WeakSet()
_CHANGING = threading.Lock()
_HELD: list[threading.Lock] = []


def survives_fork(thing: Locked) -> None:
    """Let the lock of `thing` be free in every child that is forked from now on."""
    with _CHANGING:
        _KNOWN.add(thing)


def _take() -> None:
    _CHANGING.acquire()
    for thing in list(_KNOWN):
        thing._lock.acquire()
        _HELD.append(thing._lock)


def _free() -> None:
    while _HELD:
        _HELD.pop().release()
    _CHANGING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_free, after_in_child=_free)
