"""What every adapter needs: the framework in a version that works, a middleware, plain texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import attrs

from queen_sdk import Middleware, Policy
from queen_sdk.asking import Rewrites
from queen_sdk.errors import MissingExtraError, missing_extra


def require(distribution: str, *, extra: str, at_least: str, below: str) -> None:
    """Check that a framework is installed, in a version the adapter was written for.

    Args:
        distribution: Its name on PyPI.
        extra: The extra of queen-sdk that installs it.
        at_least: The first version that works.
        below: The first version that is not known to work.

    Raises:
        MissingExtraError: It is not; the message holds the pip command.
    """
    try:
        installed = version(distribution)
    except PackageNotFoundError:
        raise missing_extra(distribution, extra) from None
    if not _numbers(at_least) <= _numbers(installed) < _numbers(below):
        raise MissingExtraError(
            f"{distribution} {installed} is installed, this adapter works with versions from "
            f"{at_least} and below {below}; get one with: pip install 'queen-sdk[{extra}]'"
        )


def _numbers(name: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, so that 1.10 comes after 1.9."""
    release = re.match(r"\d+(\.\d+)*", name)
    numbers = [int(part) for part in release[0].split(".")] if release else [0]
    return tuple([*numbers, 0, 0, 0][: max(3, len(numbers))])


def in_middleware(rewriter: Rewrites, policy: Policy | None) -> Middleware:
    """Return a middleware around a rewriter; one that is handed in is used as it is."""
    if isinstance(rewriter, Middleware):
        return rewriter
    return Middleware(rewriter, policy)


def for_call(middleware: Middleware, policy: Policy | None, *, enabled: bool) -> Policy:
    """Return the policy of one call: the adapter's or the middleware's, or that switched off."""
    own = policy or middleware.policy
    return own if enabled else attrs.evolve(own, enabled=False)


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or the text among its parts.

    Pictures, audio and tool calls have none.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        return ""
    texts = [part if isinstance(part, str) else _part_text(part) for part in content]
    return "\n".join(text for text in texts if text)


def _part_text(part: object) -> str:
    if not isinstance(part, Mapping) or part.get("type") != "text":
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""
