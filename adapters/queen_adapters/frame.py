"""What every adapter needs: the framework in a version that works, a middleware, plain texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import attrs

from queen_sdk import Middleware, Policy, Rewriter, RewriteResult, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.dialogue import read_history
from queen_sdk.errors import InvalidArgumentError, MissingExtraError, missing_extra
from queen_sdk.policy import Mode


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
    """Return a middleware around a rewriter; one that is handed in is used as it is.

    The models of a `Rewriter` are loaded now: else the first utterance would wait for them, and
    time out.
    """
    if isinstance(rewriter, Middleware):
        return rewriter
    if isinstance(rewriter, Rewriter):
        rewriter.warm_up()
    return Middleware(rewriter, policy)


def for_call(middleware: Middleware, policy: Policy | None, *, enabled: bool) -> Policy:
    """Return the policy of one call: the adapter's or the middleware's, or that switched off."""
    own = policy or middleware.policy
    return own if enabled else attrs.evolve(own, enabled=False)


@attrs.frozen
class Front:
    """A rewriter in front of a bot: messages of any framework in, results out."""

    middleware: Middleware
    policy: Policy | None = None

    @classmethod
    def around(cls, rewriter: Rewrites, policy: Policy | None) -> Front:
        """Put a rewriter, or a middleware of the caller's own, in front."""
        return cls(in_middleware(rewriter, policy), policy)

    def rewrite(
        self, messages: Sequence[object], utterance: str, *, enabled: bool = True
    ) -> RewriteResult:
        """Rewrite what follows the messages, or say by `skip_reason` why not."""
        policy = for_call(self.middleware, self.policy, enabled=enabled)
        return self.middleware.rewrite(turns_of(messages), utterance, policy=policy)

    async def arewrite(
        self, messages: Sequence[object], utterance: str, *, enabled: bool = True
    ) -> RewriteResult:
        """Do what `rewrite` does, without blocking the event loop."""
        policy = for_call(self.middleware, self.policy, enabled=enabled)
        return await self.middleware.arewrite(turns_of(messages), utterance, policy=policy)

    @property
    def mode(self) -> Mode:
        """Whether the bot is given the rewrite (`replace`), or only its search is."""
        return (self.policy or self.middleware.policy).mode

    def message(self, result: RewriteResult) -> str:
        """Return the words for the bot: the rewrite, or in `retrieval` mode the user's own."""
        return self.middleware.message(result, mode=self.mode)


def turns_of(messages: Sequence[object]) -> list[Turn]:
    """Read a history in any form of queen-sdk, or as message objects with a type and a content.

    There is a turn for each message, so that the sources of edits count messages.

    Raises:
        InvalidArgumentError: It is no history.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        return list(read_history(messages))  # type: ignore[arg-type]  # raises, and says why
    return [_turn(message) for message in messages]


def _turn(message: object) -> Turn:
    kind, content = getattr(message, "type", None), getattr(message, "content", None)
    if isinstance(message, (str, Turn)) or not isinstance(kind, str):
        return read_history([_with_text(message)])[0]  # type: ignore[list-item]
    role = getattr(message, "role", kind)
    try:
        return read_history([(role, text_of(content))])[0]
    except InvalidArgumentError:  # a kind of message that nobody says
        return Turn(text_of(content), role="system")


def _with_text(message: object) -> object:
    """Let the content of a pair or a mapping be plain text."""
    if isinstance(message, Mapping) and "content" in message:
        return {**message, "content": text_of(message["content"])}
    if isinstance(message, (tuple, list)) and len(message) == 2:
        return message[0], text_of(message[1])
    return message


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
