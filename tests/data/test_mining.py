"""Mining: function words that are missing, expressions that are replaced."""

from __future__ import annotations

import pytest

from queen_sdk.data.examples import Example
from queen_sdk.data.mining import (
    FUNCTION_WORDS,
    PRONOUNS,
    mine_collection,
    mine_extra_words,
    supervise_example,
)
from queen_sdk.rows import ExtraWords
from queen_sdk.template import ReferringExpressions
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Turn


def make(utterance: str, reference: str, *history: str, corpus: str = "test") -> Example:
    turns = tuple(Turn(text) for text in history or ("Smith likes food",))
    return Example(turns, utterance=utterance, reference=reference, id=f"{corpus}:1")


OF = make("the price?", "the price of food?")
POSSESSIVE = make("his price?", "Smith's price?")
NOVEL = make("why?", "why pizza?")


class TestExtraWords:
    """Words that a model may use although nobody said them."""

    def test_missing_function_words_are_found_with_their_side(self) -> None:
        mined = mine_extra_words([OF, POSSESSIVE], language="en", limit=5)
        assert mined == ExtraWords(("of",), ("'s",))

    def test_words_with_a_meaning_of_their_own_never_become_extra_words(self) -> None:
        assert mine_extra_words([NOVEL] * 10, language="en", limit=5) == ExtraWords()

    def test_the_most_frequent_come_first_and_the_rest_is_cut(self) -> None:
        about = make("he cares", "he cares about food")
        mined = mine_extra_words([OF, about, about, POSSESSIVE, OF, OF], language="en", limit=2)
        assert mined == ExtraWords(("of", "about"), ())

    def test_a_word_that_is_needed_alone_counts_for_more(self) -> None:
        # "about" is missing as often as "of", but always together with another word.
        pair = make("he cares", "he cares about any food")
        mined = mine_extra_words([pair, pair, OF, OF], language="en", limit=1)
        assert mined == ExtraWords(("of",), ())

    def test_a_small_corpus_counts_as_much_as_a_large_one(self) -> None:
        about = make("he cares", "he cares about food", corpus="small")
        mined = mine_extra_words([*[OF, NOVEL] * 5, about], language="en", limit=1)
        assert mined == ExtraWords(("about",), ())

    def test_what_a_model_knows_already_is_kept(self) -> None:
        known = ExtraWords(("besides",), ("'s",))
        mined = mine_extra_words([OF, POSSESSIVE], language="en", limit=3, known=known)
        assert mined == ExtraWords(("besides", "of"), ("'s",))
        assert mine_extra_words([OF], language="en", limit=1, known=known) == known

    def test_words_that_were_said_are_not_missing(self) -> None:
        said = make("the price?", "the price of food?", "a lot of food")
        assert mine_extra_words([said] * 3, language="en", limit=5) == ExtraWords()

    def test_chinese_has_its_own(self) -> None:
        example = make("天气", "北京的天气", "北京")
        assert mine_extra_words([example], language="zh", limit=5) == ExtraWords((), ("的",))

    @pytest.mark.parametrize("limit", [0, 1])
    def test_the_limit_holds(self, limit: int) -> None:
        mined = mine_extra_words([OF, POSSESSIVE], language="en", limit=limit)
        assert len(mined.all) == limit

    def test_mined_words_make_references_reachable(self) -> None:
        mined = mine_extra_words([OF, POSSESSIVE], language="en", limit=5)
        for example in (OF, POSSESSIVE):
            assert not supervise_example(example, ExtraWords()).exact
            assert supervise_example(example, mined).exact


class TestCollection:
    """Expressions that refer to something said before."""

    PLACE = make("Is that place open?", "Is Smith open?")
    SAME = make("The same", "food")

    def mine(self, examples: list[Example], **settings: float) -> set[str]:
        extra = ExtraWords()
        found = mine_collection(examples, language="en", extra_words=extra, **settings)  # type: ignore[arg-type]
        return set(found) - set(PRONOUNS["en"])

    def test_what_is_replaced_often_is_collected(self) -> None:
        assert self.mine([self.PLACE] * 3) == {"that place"}

    def test_what_is_replaced_rarely_is_not(self) -> None:
        assert self.mine([self.PLACE] * 2) == set()
        assert self.mine([self.PLACE] * 2, at_least=2) == {"that place"}

    def test_what_mostly_stays_is_not(self) -> None:
        kept = make("Is that place open?", "Is that place open?")
        assert self.mine([self.PLACE] * 3 + [kept] * 7) == {"that place"}
        assert self.mine([self.PLACE] * 3 + [kept] * 8) == set()
        assert self.mine([self.PLACE] * 3 + [kept] * 8, share=0.2) == {"that place"}

    def test_long_spans_are_not(self) -> None:
        long = make("one of the same old place ?", "Smith ?")
        assert self.mine([long] * 5) == set()

    def test_insertions_replace_nothing(self) -> None:
        inserted = make("the price", "the price Smith")
        assert self.mine([inserted] * 5) == set()

    def test_spans_are_in_lower_case(self) -> None:
        assert self.mine([self.SAME] * 3) == {"the same"}

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_pronouns_are_always_in_and_can_be_matched(self, language: str) -> None:
        mined = mine_collection([], language=language, extra_words=ExtraWords())
        collection = ReferringExpressions(mined)
        for pronoun in PRONOUNS[language]:
            tokens = tokenize(pronoun)
            assert collection.spans(tokens) == ((0, len(tokens)),)

    def test_longer_spans_come_first(self) -> None:
        mined = mine_collection([self.PLACE] * 3, language="en", extra_words=ExtraWords())
        sizes = [len(span.split()) for span in mined]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_function_words_are_tokens(language: str) -> None:
    for word in FUNCTION_WORDS[language]:
        assert [token.text for token in tokenize(word)] == [word]


@pytest.mark.parametrize("pronoun", ["我", "你", "i", "you"])
def test_first_and_second_persons_are_no_seed(pronoun: str) -> None:
    assert pronoun not in {*PRONOUNS["zh"], *PRONOUNS["en"]}
