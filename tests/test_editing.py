"""Editing: what an edited utterance looks like, and that it can be undone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from handmade import rows_of, token_edit
from hypothesis import assume, given
from strategies import texts

from queen_sdk.decoding import Piece, TokenEdit
from queen_sdk.editing import apply_edits, joint, realise
from queen_sdk.rows import ExtraWords, build_rows
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Edit, EditKind

HISTORY = (
    "Smith wants the type of cuisine. The restaurant is nice, isn't it?",
    "Bill paid the bill. Trains were late, I like trains. May I go in May?",
    "the small Café (of Rome) near iPhone",
    "北京的天气很好。 史密斯喜欢 iPad",
    "關於臺灣",
)

Planned = tuple[EditKind, int, int, tuple[str, ...]]


def sub(start: int, end: int, *pieces: str) -> Planned:
    return "substitute", start, end, pieces


def ins(position: int, *pieces: str) -> Planned:
    return "insert", position, position, pieces


def realised(
    utterance: str, planned: Sequence[Planned], history: Sequence[str] = HISTORY
) -> tuple[Edit, ...]:
    rows = rows_of(*history)
    edits = [token_edit(rows, kind, start, end, *pieces) for kind, start, end, pieces in planned]
    return realise(utterance, tokenize(utterance), edits, rows, dict(enumerate(history)))


def rewritten(utterance: str, *planned: Planned, history: Sequence[str] = HISTORY) -> str:
    return apply_edits(utterance, realised(utterance, planned, history))


class TestJoint:
    """What stands between two texts."""

    @pytest.mark.parametrize(
        ("left", "right", "between"),
        [
            ("he", "is", " "),
            ("he", ".", ""),
            ("he", ", who", ""),
            ("he", "'s", ""),
            ("he", "’ll", ""),
            ("he", "'sup", " "),
            ("he", "?", ""),
            ("he", ")", ""),
            ("he", "(", " "),
            ("(", "he", ""),
            ("$", "5", ""),
            ("and/", "or", ""),
            ("他", "是", ""),
            ("他", "Smith", ""),
            ("Smith", "是", ""),
            ("Smith", "。", ""),
            ("（", "Smith", ""),
            ("he ", "is", ""),
            ("he", " is", ""),
            ("", "he", ""),
            ("he", "", ""),
            ("a@", "b", " "),
            ("5", ":30", " "),
            ("smith", ".com", " "),
            ("ｆｕｌｌ", "width", " "),
            ("he", "👍", " "),
        ],
    )
    def test_a_space_or_nothing(self, left: str, right: str, between: str) -> None:
        assert joint(left, right) == between

    @given(texts, texts)
    def test_joined_texts_never_fuse(self, left: str, right: str) -> None:
        assume(left and right)
        joined = left + joint(left, right)
        assert not any(t.start < len(joined) < t.end for t in tokenize(joined + right))


class TestSubstitution:
    """Text that stands for other text."""

    @pytest.mark.parametrize(
        ("utterance", "edit", "expected"),
        [
            ("No, he does not care.", sub(2, 3, "Smith"), "No, Smith does not care."),
            ("Does he?", sub(1, 2, "Smith"), "Does Smith?"),
            ("Is he's ok", sub(1, 2, "Smith"), "Is Smith's ok"),
            ("his dog", sub(0, 1, "Smith", "'s"), "Smith's dog"),
            ("is that one open", sub(1, 3, "the small Café"), "is the small Café open"),
            ("what  of\tthat ?", sub(2, 3, "cuisine"), "what  of\tcuisine ?"),
            ("he", sub(0, 1, "Smith"), "Smith"),
            ("  he  ", sub(0, 1, "Smith"), "  Smith  "),
            ("他怎么样", sub(0, 1, "北 京"), "北京怎么样"),
            ("他怎么样", sub(0, 1, "iPad"), "iPad怎么样"),
            ("iPhone他呢", sub(1, 2, "iPad"), "iPhone iPad呢"),
            ("is 他 ok", sub(1, 2, "史 密 斯"), "is 史密斯 ok"),
            ("這裡好嗎", sub(0, 2, "臺 灣"), "臺灣好嗎"),
        ],
    )
    def test_it_takes_the_place_of_the_old_text(
        self, utterance: str, edit: Planned, expected: str
    ) -> None:
        assert rewritten(utterance, edit) == expected

    @pytest.mark.parametrize(
        "around",
        """
        "{}" '{}' **{}** _{}_ ({}) <{}> `{}` No,{} {}—so {}/she ~{} “{}” {}… 👍{} #{} {}=5
        （{}） 「{}」 \u200f{}\u200f
        """.split(),
    )
    def test_what_touched_the_old_text_touches_the_new(self, around: str) -> None:
        utterance = around.format("he")
        position = [token.text for token in tokenize(utterance)].index("he")
        assert rewritten(utterance, sub(position, position + 1, "Smith")) == around.format("Smith")

    @pytest.mark.parametrize(
        ("utterance", "position", "expected"),
        [("x@y他", 1, "x@y cuisine"), ("A.B", 2, "A.Cuisine"), ("it's", 1, "it cuisine")],
    )
    def test_words_do_not_grow_together(self, utterance: str, position: int, expected: str) -> None:
        assert rewritten(utterance, sub(position, position + 1, "cuisine")) == expected

    def test_two_edits_and_what_follows_do_not_grow_together(self) -> None:
        edits = (sub(0, 1, "Smith"), sub(1, 2, "-"))
        assert rewritten("他她he", *edits, history=["Smith -"]) == "Smith- he"


class TestInsertion:
    """Text that was not there."""

    @pytest.mark.parametrize(
        ("utterance", "edit", "expected"),
        [
            ("he does not care.", ins(4, "about", "the type"), "he does not care about the type."),
            ("he does not care .", ins(4, "about", "Smith"), "he does not care about Smith ."),
            ("he does not care", ins(4, "about", "Smith"), "he does not care about Smith"),
            ("he does not care  \n", ins(4, "about", "Smith"), "he does not care about Smith  \n"),
            ("Does he?", ins(3, "Smith"), "Does he? Smith"),
            ("what type?", ins(2, "of cuisine"), "what type of cuisine?"),
            ("is open", ins(0, "the small Café"), "the small Café is open"),
            (" is open", ins(0, "Smith"), " Smith is open"),
            ("where is the phone", ins(3, "Smith", "'s"), "where is the Smith's phone"),
            ("the (phone)", ins(2, "small"), "the (small phone)"),
            ("the (phone)", ins(3, "small"), "the (phone small)"),
            ("the phone (new)", ins(2, "small"), "the phone small (new)"),
            ('say "it" now', ins(2, "Smith"), 'say "Smith it" now'),
            ('say "it" now', ins(3, "Smith"), 'say "it Smith" now'),
            ('say "it".', ins(4, "Smith"), 'say "it" Smith.'),
            ("and/or", ins(1, "Smith"), "and Smith/or"),
            ("who's there", ins(1, "Smith"), "who Smith's there"),
            ("User:he", ins(2, "Smith"), "User:Smith he"),
            ("怎么样", ins(0, "北 京 的 天 气"), "北京的天气怎么样"),
            ("喜欢吃。", ins(3, "北 京"), "喜欢吃北京。"),
            ("喜欢吃", ins(3, "iPad"), "喜欢吃iPad"),
            ("用iPhone吗", ins(2, "iPad"), "用iPhone iPad吗"),
        ],
    )
    def test_it_stands_before_its_token(self, utterance: str, edit: Planned, expected: str) -> None:
        assert rewritten(utterance, edit) == expected

    @pytest.mark.parametrize(
        ("utterance", "edit", "expected"),
        [
            ("Smith phone", ins(1, "'s"), "Smith's phone"),
            ("what is Smith  phone", ins(3, "'s"), "what is Smith's  phone"),
            ("Smith it phone", sub(1, 2, "'s"), "Smith's phone"),
            ("the phone of Smith", ins(4, "'s"), "the phone of Smith's"),
            ("Smith phone", ins(1, ", isn't it"), "Smith, isn't it phone"),
        ],
    )
    def test_a_clitic_or_comma_leans_on_the_word_before(
        self, utterance: str, edit: Planned, expected: str
    ) -> None:
        assert rewritten(utterance, edit) == expected


class TestSeveralEdits:
    """Edits beside each other."""

    @pytest.mark.parametrize(
        ("utterance", "edits", "expected"),
        [
            (
                "No, he does not care.",
                [sub(2, 3, "Smith"), ins(6, "about", "the type")],
                "No, Smith does not care about the type.",
            ),
            ("is he ok", [ins(1, "the type"), sub(1, 2, "Smith")], "is the type Smith ok"),
            ("he she", [sub(0, 1, "Smith"), sub(1, 2, "cuisine")], "Smith cuisine"),
            ("is he", [ins(1, "near"), sub(1, 2, "Smith")], "is near Smith"),
            ("is he", [sub(1, 2, "Smith"), ins(2, "near")], "is Smith near"),
            ("is he ok", [sub(1, 2, "Smith"), ins(2, "near")], "is Smith near ok"),
            ("he.", [sub(0, 1, "Smith"), ins(1, "near")], "Smith near."),
            ("his x", [sub(0, 1, "Smith"), ins(1, "'s")], "Smith's x"),
            ("is x", [ins(1, "'s"), sub(1, 2, "Smith")], "is's Smith"),
            ("is x y", [ins(1, "near"), sub(1, 2, "'s")], "is near 's y"),
            ("他她", [sub(0, 1, "北 京"), sub(1, 2, "臺 灣")], "北京臺灣"),
            ("他她", [sub(0, 1, "iPad"), sub(1, 2, "iPhone")], "iPad iPhone"),
            ("他@她", [sub(0, 1, "iPad"), sub(2, 3, "iPhone")], "iPad@ iPhone"),
            ("他吗", [ins(0, "iPhone"), sub(0, 1, "iPad"), ins(1, "Smith")], "iPhone iPad Smith吗"),
            ("他", [sub(0, 1, "北 京"), ins(1, "的")], "北京的"),
            ("x1\ufe0f\u20e3", [sub(0, 1, "的"), sub(1, 2, "near")], "的 \ufe0fnear"),
            (
                "a b c",
                [ins(0, "Smith"), ins(1, "near"), ins(3, "cuisine")],
                "Smith a near b c cuisine",
            ),
        ],
    )
    def test_each_lands_in_its_place(
        self, utterance: str, edits: list[Planned], expected: str
    ) -> None:
        assert rewritten(utterance, *edits) == expected


class TestCase:
    """Capitals at sentence starts."""

    @pytest.mark.parametrize(
        ("utterance", "edit", "expected"),
        [
            ("It is open", sub(0, 1, "the small"), "The small is open"),
            ("it is open", sub(0, 1, "the small"), "the small is open"),
            ("Yes. It is", sub(2, 3, "the small"), "Yes. The small is"),
            ("Yes! “It is”", sub(3, 4, "the small"), "Yes! “The small is”"),
            ("Yes\nIt is", sub(1, 2, "the small"), "Yes\nThe small is"),
            ("It is", sub(0, 1, "iPhone"), "iPhone is"),
            ("OK It is", sub(1, 2, "the small"), "OK the small is"),
            ("他. It", sub(2, 3, "北 京"), "他. 北京"),
        ],
    )
    def test_a_sentence_starts_as_it_did(
        self, utterance: str, edit: Planned, expected: str
    ) -> None:
        assert rewritten(utterance, edit) == expected

    @pytest.mark.parametrize(
        ("pieces", "expected"),
        [
            (("The restaurant",), "what about the restaurant"),
            (("of", "Trains"), "what about of trains"),
            (("Trains",), "what about trains"),
            (("about", "The restaurant"), "what about about the restaurant"),
        ],
    )
    def test_a_common_word_loses_the_capital_of_its_sentence_start(
        self, pieces: tuple[str, ...], expected: str
    ) -> None:
        assert rewritten("what about it", sub(2, 3, *pieces)) == expected

    @pytest.mark.parametrize("name", ["Smith", "Bill", "May", "iPhone", "Café", "I", "Rome"])
    def test_a_name_keeps_its_capital(self, name: str) -> None:
        assert rewritten("what about it", sub(2, 3, name)) == f"what about {name}"

    @pytest.mark.parametrize(
        "history",
        ["Will called. He will come.", "Apple is big. An apple. I like Apple."],
    )
    def test_a_name_that_is_also_a_word_keeps_its_capital(self, history: str) -> None:
        name = history.split()[0]
        assert rewritten("is it", sub(1, 2, name), history=[history]) == f"is {name}"

    @pytest.mark.parametrize("tag", ["Anna: ", "用户：", "  Anna :"])
    def test_a_sentence_may_start_behind_a_speaker_tag(self, tag: str) -> None:
        said, asked = f"{tag}The price is high.", f"{tag}It is."
        rows = build_rows([(0, tokenize(said, start=len(tag)))], ExtraWords())
        tokens = tokenize(asked, start=len(tag))
        copy = (Piece(0, 1, 1.0),)
        mid = [TokenEdit("insert", 1, 1, copy, 1.0)]
        assert realise(asked, tokens, mid, rows, {0: said})[0].text == "the price "
        rows = build_rows([(0, tokenize("so the price", start=3))], ExtraWords())
        start = [TokenEdit("substitute", 0, 1, copy, 1.0)]
        assert realise(asked, tokens, start, rows, {0: "so the price"})[0].text == "The price"

    @pytest.mark.parametrize(
        ("history", "expected"), [("A. C. Clarke wrote it.", "is A"), ("A book is here.", "is a")]
    )
    def test_an_initial_keeps_its_capital(self, history: str, expected: str) -> None:
        assert rewritten("is it", sub(1, 2, "A"), history=[history]) == expected

    def test_a_capital_inside_a_sentence_stays(self) -> None:
        history = ["He saw The Who."]
        assert rewritten("is it", sub(1, 2, "The Who"), history=history) == "is The Who"

    @pytest.mark.parametrize(
        ("utterance", "expected"), [("I see.", "I see. The restaurant"), ("I see", "I see the")]
    )
    def test_behind_a_full_stop_a_sentence_starts(self, utterance: str, expected: str) -> None:
        end = len(tokenize(utterance))
        assert rewritten(utterance, ins(end, "The restaurant")).startswith(expected)


class TestEdits:
    """The values that come out."""

    def test_an_edit_says_what_it_replaced_and_where_from(self) -> None:
        (edit,) = realised("No, he does", [sub(2, 3, "of", "Smith")])
        assert (edit.kind, edit.start, edit.end, edit.text) == ("substitute", 4, 6, "of Smith")
        word, name = edit.sources
        assert (word.turn, word.start, word.end, word.text) == (None, 0, 2, "of")
        assert (name.turn, name.start, name.end, name.text) == (0, 0, 5, "Smith")

    def test_the_source_keeps_the_case_that_the_edit_changed(self) -> None:
        (edit,) = realised("what about it", [sub(2, 3, "The restaurant")])
        assert edit.text == "the restaurant"
        assert edit.sources[0].text == "The restaurant"

    def test_the_score_is_handed_on(self) -> None:
        rows = rows_of(*HISTORY)
        edits = [token_edit(rows, "insert", 0, 0, "Smith", score=2.5)]
        turns = dict(enumerate(HISTORY))
        assert realise("is", tokenize("is"), edits, rows, turns)[0].score == 2.5

    def test_no_edit_gives_the_very_same_string(self) -> None:
        utterance = "".join(["No, ", "he"])
        assert apply_edits(utterance, ()) is utterance
        assert realised(utterance, []) == ()
