"""Reading dialogues: every accepted form, clear errors for the others, speaker tags."""

from __future__ import annotations

from collections import UserDict, deque
from types import MappingProxyType
from typing import Any

import pytest
from handmade import processor_seconds
from hypothesis import given
from strategies import histories, texts

from queen_sdk.dialogue import read_history, read_utterance, spoken_turns, tag_lengths
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.values import Turn

HELLO = Turn("hello", role="assistant")


class TestReadHistory:
    """From what users hand over to turns."""

    @pytest.mark.parametrize(
        "item",
        [
            HELLO,
            ("assistant", "hello"),
            ["assistant", "hello"],
            deque(["assistant", "hello"]),
            {"role": "assistant", "content": "hello"},
            {"role": "assistant", "content": "hello", "name": "Bob", "tool_calls": None},
            MappingProxyType({"role": "assistant", "content": "hello"}),
            UserDict({"role": "assistant", "content": "hello"}),
        ],
    )
    @pytest.mark.parametrize("container", [list, tuple, deque])
    def test_every_form_says_the_same(self, item: Any, container: type) -> None:
        assert read_history(container(["hi", item])) == (Turn("hi", role="user"), HELLO)

    @pytest.mark.parametrize(
        ("role", "read"),
        [
            ("user", "user"),
            ("Human", "user"),
            ("ASSISTANT", "assistant"),
            ("ai", "assistant"),
            ("bot", "assistant"),
            ("system", "system"),
            ("developer", "system"),
            ("tool", "tool"),
            ("function", "tool"),
        ],
    )
    def test_roles_have_several_names(self, role: str, read: str) -> None:
        assert [turn.role for turn in read_history([(role, "hi")])] == [read]

    @given(histories)
    def test_texts_are_kept_as_they_are(self, history: list[str]) -> None:
        turns = read_history(history)
        assert all(turn.text is text for turn, text in zip(turns, history, strict=True))

    @pytest.mark.parametrize(
        "history", ["hi", b"hi", {"role": "user", "content": "hi"}, None, 5, iter(["hi"]), {"hi"}]
    )
    def test_a_history_is_a_sequence(self, history: Any) -> None:
        with pytest.raises(
            InvalidArgumentError, match=r"^history must be a sequence of turns, got"
        ):
            read_history(history)

    @pytest.mark.parametrize(
        "item", [None, 5, b"hi", b"ab", 1.5, object(), (), ("hi",), ("user", "a", "b"), {"hi"}]
    )
    def test_an_item_of_no_known_form_is_named(self, item: Any) -> None:
        kind = type(item).__name__
        with pytest.raises(InvalidArgumentError, match=rf"^history\[1\] is a {kind}; allowed are"):
            read_history(["fine", item])

    @pytest.mark.parametrize(
        "item",
        [
            ("user", None),
            ["user", 5],
            ("user", b"hi"),
            {"role": "user", "content": None},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            Turn(5),  # type: ignore[arg-type]
        ],
    )
    def test_a_text_is_a_string(self, item: Any) -> None:
        with pytest.raises(InvalidArgumentError, match=r"the text of history\[0\] must be a str"):
            read_history([item])

    @pytest.mark.parametrize(
        "item",
        [
            ("narrator", "hi"),
            ("", "hi"),
            ("hello", "user"),
            (None, "hi"),
            (1, "hi"),
            {"role": ["user"], "content": "hi"},
            Turn("hi", role="nobody"),  # type: ignore[arg-type]
        ],
    )
    def test_an_unknown_role_is_named_beside_the_known(self, item: Any) -> None:
        match = r"unknown role .* in history\[2\]; allowed are user, .*assistant, .*system, .*tool"
        with pytest.raises(InvalidArgumentError, match=match):
            read_history(["fine", "fine", item])

    @pytest.mark.parametrize("item", [{}, {"role": "user"}, {"content": "hi"}, {1: 2, "role": "a"}])
    def test_a_mapping_needs_both_keys(self, item: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="must have the keys 'role' and 'content'"):
            read_history([item])


class TestReadUtterance:
    """Only strings."""

    @given(texts)
    def test_a_string_is_returned_as_it_is(self, text: str) -> None:
        assert read_utterance(text) is text

    @pytest.mark.parametrize("utterance", [None, 5, b"hi", ["hi"], Turn("hi")])
    def test_anything_else_is_an_error(self, utterance: Any) -> None:
        kind = type(utterance).__name__
        with pytest.raises(InvalidArgumentError, match=f"utterance must be a str, got {kind}"):
            read_utterance(utterance)


class TestSpokenTurns:
    """Which turns are read."""

    def test_system_and_tool_turns_are_not(self) -> None:
        turns = read_history(
            [("system", "Be kind."), ("user", "a"), ("tool", "{}"), ("assistant", "b")]
        )
        assert spoken_turns(turns, "c") == [1, 3]

    @pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000"])
    def test_blank_turns_are_not(self, blank: str) -> None:
        assert spoken_turns(read_history(["a", blank, "b", blank]), "c") == [0, 2]

    @pytest.mark.parametrize("last", ["he did", " he did\n"])
    @pytest.mark.parametrize("behind", [[], [""], [("system", "x"), ("tool", "y")]])
    def test_the_utterance_itself_is_left_out(self, last: str, behind: list[Any]) -> None:
        assert spoken_turns(read_history(["a", last, *behind]), "he did") == [0]

    @pytest.mark.parametrize(
        "history", [["he did", "b"], ["a", "he did!"], ["a", ("assistant", "he did")]]
    )
    def test_only_a_last_user_turn_is_a_copy(self, history: list[Any]) -> None:
        assert spoken_turns(read_history(history), "he did") == [0, 1]

    def test_only_one_copy_is_left_out(self) -> None:
        assert spoken_turns(read_history(["yes", "yes"]), "yes") == [0]


class TestTagLengths:
    """Speaker tags are not words of the dialogue."""

    @pytest.mark.parametrize(
        ("texts", "tags"),
        [
            (["Anna: hi", "Tom: hello", "Anna: and him?"], ["Anna: ", "Tom: ", "Anna: "]),
            (["Anna: hi", "Tom: hello", "and him?"], ["Anna: ", "Tom: ", ""]),
            (["Anna: hi", "hello", "Anna: well", "and?"], ["Anna: ", "", "Anna: ", ""]),
            (["用户：你好", "客服：您好", "他呢"], ["用户：", "客服：", ""]),
            (["张三：你好", "李四： 您好", "他呢"], ["张三：", "李四： ", ""]),
            (["User: hi", "hello", "and him?"], ["User: ", "", ""]),
            (["Q: who?", "A: Smith.", "Q: his age?"], ["Q: ", "A: ", "Q: "]),
            (["  anna : hi", "x", "Anna:well"], ["  anna : ", "", "Anna:"]),
            (
                ["Dr. Anna-Lena W.: a", "Dr. Anna-Lena W.: b", "c"],
                ["Dr. Anna-Lena W.: "] * 2 + [""],
            ),
            (["Katharina: a", "Katharinna: b", "x", "c"], ["Katharina: ", "Katharinna: ", "", ""]),
            (["Player 1: a", "Player 2: b", "c"], ["Player 1: ", "Player 2: ", ""]),
        ],
    )
    def test_tags_are_found(self, texts: list[str], tags: list[str]) -> None:
        assert [t[:n] for t, n in zip(texts, tag_lengths(texts), strict=True)] == tags

    @pytest.mark.parametrize(
        "texts",
        [
            ["Note: we close at five.", "When?"],
            ["One thing: it is late.", "I see.", "Another thing: it rains.", "And?"],
            ["hello", "hi"],
            ["See you at 5:30", "See you at 6:30", "ok"],
            ["https://a.example", "https://b.example", "open it"],
            ["5: a", "5: b", "5: c"],
            ["Anna:", "Anna: ", "who"],
            [": a", ": b", ": c"],
            ["a name that is much too long for a tag: x", "b", "a name that is much too long: x"],
        ],
    )
    def test_other_colons_are_no_tags(self, texts: list[str]) -> None:
        assert tag_lengths(texts) == [0] * len(texts)

    @given(histories)
    def test_something_is_left_behind_every_tag(self, history: list[str]) -> None:
        lengths = tag_lengths(history)
        assert len(lengths) == len(history)
        for text, length in zip(history, lengths, strict=True):
            assert length == 0 or (0 < length < len(text) and not text[length].isspace())

    @pytest.mark.parametrize(
        "text", ["Anna" + " " * 100_000, "Anna:" + " " * 100_000, " " * 100_000, "a " * 50_000]
    )
    def test_long_turns_are_looked_at_only_once(self, text: str) -> None:
        assert processor_seconds(lambda: tag_lengths([text] * 10)) < 0.5
