"""What an adapter has to keep, as tests to inherit; and a rewriter for tests that needs no model.

An adapter puts a rewriter in front of a bot, inside somebody's framework. Its test drives the real
framework and says what it saw; the tests themselves are written here (only pytest is needed):

    from queen_sdk.testing import ANSWER, AdapterContract, Observed

    class Driver:                                     # plays the user, and looks behind the scenes
        def __init__(self, rewriter):
            self.bot = MyBot(plugin=MyAdapter(rewriter, policy=Policy(timeout=30)))

        def ask(self, conversation, history, utterance, *, enabled=True):
            reply = self.bot.run(...)                 # the bot answers ANSWER, whatever it is asked
            return Observed(used=..., original=..., shown=reply, history=...)

        async def aask(self, conversation, history, utterance, *, enabled=True):
            ...                                       # the same, the framework's async way

    class TestMyAdapter(AdapterContract):
        multimodal = False                            # what the host cannot do is said, and skipped

        def make(self, rewriter):
            return Driver(rewriter)

Give the adapter a long time-out, since the machine that tests may be busy.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import attrs

from queen_sdk.asking import Rewrites, untouched
from queen_sdk.dialogue import HistoryItem, read_history, spoken_turns
from queen_sdk.errors import MissingExtraError
from queen_sdk.values import Edit, RewriteResult, Role, SkipReason, Source, Turn

try:
    import pytest
except ImportError as error:  # pragma: no cover
    raise MissingExtraError("pytest is not installed: pip install pytest") from error

ANSWER = "One moment, please."
"""What the bot of a driver answers, and the only thing that its search finds."""

Content: TypeAlias = "str | Sequence[Mapping[str, Any]]"
"""What a user says: a text, or parts (`{"type": "text", "text": …}`, pictures and the like)."""


class FakeRewriter:
    """Puts the last spoken turn of the history behind the utterance; remembers its calls."""

    def __init__(self, act: Callable[[str], None] = lambda utterance: None) -> None:
        """Take what to do in every call: raise, wait."""
        self.act = act
        self.calls: list[tuple[tuple[Turn, ...], str]] = []
        self.options: list[tuple[float | None, float, tuple[str, ...]]] = []
        self.threads: set[int] = set()

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Rewrite as a model would that finds every utterance incomplete."""
        turns = read_history(history)
        self.calls.append((turns, utterance))
        self.options.append((threshold, min_confidence, tuple(protect)))
        self.threads.add(threading.get_ident())
        self.act(utterance)
        spoken = spoken_turns(turns, utterance)
        if not spoken:
            return untouched(utterance, "no_history")
        text, end = turns[spoken[-1]].text, len(utterance)
        source = Source(spoken[-1], start=0, end=len(text), text=text)
        edit = Edit("insert", start=end, end=end, text=f" {text}", sources=(source,), score=1.0)
        return RewriteResult(
            f"{utterance} {text}", original=utterance, edits=(edit,), confidence=0.9
        )


@attrs.frozen(kw_only=True)
class Observed:
    """What a host made of one utterance."""

    used: Content
    """What the rewrite is for was given: the search its query, or the bot its message."""
    original: Content
    """The user's own words, as whoever uses the adapter gets at them afterwards."""
    shown: str
    """Everything that the user saw, streamed pieces joined."""
    history: tuple[Turn, ...]
    """The turns before the utterance, as the host holds them, or passed them on, afterwards."""
    edits: Sequence[Edit | Mapping[str, Any]] = ()
    """The edits, as whoever uses the adapter gets at them: values, or fields of them."""
    skip_reason: SkipReason | str | None = None
    """Why nothing was edited, as the adapter says it."""


class Driver(Protocol):
    """Plays the user of a bot with the adapter in it."""

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        """Say something in a conversation that consists of `history` so far.

        Args:
            conversation: Names it; one that comes again has grown.
            history: All its turns. A host that keeps histories itself is given them first.
            utterance: What is said now.
            enabled: False asks the adapter to leave this one utterance alone.
        """
        ...

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        """Do the same, the host's async way."""
        ...


ENGLISH = (Turn("When does the museum open?"), Turn("At nine, in June.", role="assistant"))
CHINESE = (Turn("博物馆几点开门？"), Turn("六月九点。🙂", role="assistant"))
FOLLOW_UPS = [(ENGLISH, "And in July?"), (CHINESE, "那七月呢？")]

follow_ups = pytest.mark.parametrize(("history", "utterance"), FOLLOW_UPS, ids=["en", "zh"])


class AdapterContract:
    """The tests; inherit, name the class `Test…`, and implement `make`."""

    asynchronous: bool = True
    """Whether the host can be called both ways."""
    roles: Sequence[Role] = ("user", "assistant", "system", "tool")
    """Whose turns a history of the host can hold."""
    multimodal: bool = True
    """Whether a user's message can hold pictures and the like."""

    def make(self, rewriter: Rewrites) -> Driver:
        """Return a driver of a host with the adapter around `rewriter`."""
        raise NotImplementedError("an adapter's test implements make(rewriter)")

    @follow_ups
    def test_a_follow_up_is_rewritten(self, history: tuple[Turn, ...], utterance: str) -> None:
        """The adapter does something at all, with exactly the dialogue that was held."""
        rewriter = FakeRewriter()
        seen = self.make(rewriter).ask("a", history, utterance)
        assert seen.used == f"{utterance} {history[-1].text}", "the rewrite is not used"
        assert seen.skip_reason is None
        assert len(rewriter.calls) == 1, "one utterance, one call of the rewriter"
        turns, asked = rewriter.calls[0]
        assert asked == utterance
        spoken = tuple(turns[k] for k in spoken_turns(turns, asked))
        assert spoken == history, "the rewriter is given another dialogue"

    @follow_ups
    def test_the_original_is_recoverable(self, history: tuple[Turn, ...], utterance: str) -> None:
        """The user's words are at hand, and with the edits they make the rewrite."""
        seen = self.make(FakeRewriter()).ask("a", history, utterance)
        assert seen.original == utterance, "the user's own words are lost"
        assert _edited(utterance, seen.edits) == seen.used, "the edits are not those of the rewrite"

    @follow_ups
    def test_a_failing_model_leaves_the_bot_alone(
        self, history: tuple[Turn, ...], utterance: str
    ) -> None:
        """The utterance goes on as it came, and the next one is rewritten again."""
        rewriter = FakeRewriter(_fail)
        driver = self.make(rewriter)
        _assert_untouched(driver.ask("a", history, utterance), utterance, "error")
        rewriter.act = lambda utterance: None
        assert driver.ask("b", history, utterance).used != utterance, "one failure was the end"

    def test_one_call_can_be_switched_off(self) -> None:
        """The switch holds for its own call only, and the model is not asked."""
        rewriter = FakeRewriter()
        driver = self.make(rewriter)
        seen = driver.ask("a", ENGLISH, "And in July?", enabled=False)
        _assert_untouched(seen, "And in July?", "disabled")
        assert not rewriter.calls, "the model was asked although it was switched off"
        assert driver.ask("b", ENGLISH, "And in July?").used != "And in July?", "it stays off"

    def test_conversations_do_not_mix(self) -> None:
        """Two that take turns each get their own words; a third one has no history."""
        driver = self.make(FakeRewriter())
        for _ in range(2):
            first = driver.ask("a", ENGLISH, "And in July?")
            second = driver.ask("b", CHINESE, "那七月呢？")
            assert first.used == f"And in July? {ENGLISH[-1].text}"
            assert second.used == f"那七月呢？ {CHINESE[-1].text}"
        _assert_untouched(driver.ask("c", (), "And in July?"), "And in July?", "no_history")

    def test_conversations_do_not_mix_when_they_run_at_once(self) -> None:
        """Sixteen that are awaited together each get their own words."""
        driver = self._async_driver(FakeRewriter())

        async def both() -> list[Observed]:
            calls = [
                driver.aask(f"{name}{k}", history, f"And in {k}?")
                for k in range(8)
                for name, history in (("a", ENGLISH), ("b", CHINESE))
            ]
            return await asyncio.gather(*calls)

        used = [seen.used for seen in asyncio.run(both())]
        assert used == [
            f"And in {k}? {history[-1].text}" for k in range(8) for history in (ENGLISH, CHINESE)
        ]

    def test_async_does_what_sync_does(self) -> None:
        """Rewritten, switched off, without history, and with a model that fails."""
        for act in (lambda utterance: None, _fail):
            sync, other = self.make(FakeRewriter(act)), self._async_driver(FakeRewriter(act))
            for name, history, enabled in (
                ("a", ENGLISH, True),
                ("b", CHINESE, True),
                ("c", ENGLISH, False),
                ("d", (), True),
            ):
                expected = sync.ask(name, history, "And in July?", enabled=enabled)
                found = asyncio.run(other.aask(name, history, "And in July?", enabled=enabled))
                assert found == expected, "sync and async differ"

    @pytest.mark.parametrize("role", ["system", "tool"])
    def test_turns_that_nobody_said_are_untouched(self, role: Role) -> None:
        """System and tool turns stay as they are, and nothing is copied out of them."""
        if role not in self.roles:
            pytest.skip(f"this host's histories hold no {role} turns")
        history = (Turn("Be brief, SECRET", role=role), *ENGLISH, Turn("SECRET 17", role=role))
        seen = self.make(FakeRewriter()).ask("a", history, "And in July?")
        assert "SECRET" not in seen.used, f"a {role} turn was taken for something said"
        assert seen.used == f"And in July? {ENGLISH[-1].text}"
        assert tuple(seen.history) == history, "the turns before the utterance were changed"

    def test_the_history_is_untouched(self) -> None:
        """What was said before stays as it was said."""
        seen = self.make(FakeRewriter()).ask("a", ENGLISH, "And in July?")
        assert tuple(seen.history) == ENGLISH, "the turns before the utterance were changed"

    def test_pictures_and_the_like_are_untouched(self) -> None:
        """Of a message in parts only a text may be rewritten."""
        if not self.multimodal:
            pytest.skip("this host's messages are plain text")
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        text = {"type": "text", "text": "And this?"}
        given: list[dict[str, Any]] = [picture, text, dict(picture)]
        seen = self.make(FakeRewriter()).ask("a", ENGLISH, [dict(part) for part in given])
        assert seen.original == given, "the user's own message is lost"
        assert not isinstance(seen.used, str), "the parts of the message are lost"
        rewritten = {"type": "text", "text": f"And this? {ENGLISH[-1].text}"}
        assert list(seen.used) in (given, [picture, rewritten, picture])

    def test_without_history_nothing_is_done(self) -> None:
        """The first utterance of a conversation goes on as it is."""
        rewriter = FakeRewriter()
        seen = self.make(rewriter).ask("a", (), "And in July?")
        _assert_untouched(seen, "And in July?", "no_history")
        assert not rewriter.calls, "the model was asked although there is nothing to copy from"

    @follow_ups
    def test_the_rewrite_is_not_shown_to_the_user(
        self, history: tuple[Turn, ...], utterance: str
    ) -> None:
        """What the user sees is the answer, never the rewrite or a piece of it."""
        seen = self.make(FakeRewriter()).ask("a", history, utterance)
        assert seen.shown.strip(), "the driver says nothing of what the user saw"
        assert str(seen.used) not in seen.shown, "the rewrite was shown"
        assert history[-1].text not in seen.shown, "words of the rewrite were shown"

    def _async_driver(self, rewriter: Rewrites) -> Driver:
        if not self.asynchronous:
            pytest.skip("this host can be called one way only")
        return self.make(rewriter)


def _assert_untouched(seen: Observed, utterance: str, reason: str) -> None:
    assert seen.used == utterance, "the utterance was to go on as it came"
    assert seen.original == utterance, "the user's own words are lost"
    assert not seen.edits
    assert seen.skip_reason == reason, "the adapter does not say why nothing was edited"


def _edited(original: str, edits: Sequence[Edit | Mapping[str, Any]]) -> str:
    """Apply edits to the words they are counted in, from right to left."""
    text = original
    for edit in reversed(edits):
        fields = attrs.asdict(edit) if isinstance(edit, Edit) else edit
        text = text[: fields["start"]] + fields["text"] + text[fields["end"] :]
    return text


def _fail(utterance: str) -> None:
    raise RuntimeError("the model failed, as the test wants it")
