"""The query template: marks for references and for ellipses."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from strategies import texts

from queen_sdk.parsing import EllipsisEnds
from queen_sdk.template import (
    COREF,
    ELLIP,
    ReferringExpressions,
    Span,
    TemplateSettings,
    build_query,
)
from queen_sdk.tokenization import tokenize

BOTH_PARTS = TemplateSettings(ellipsis_if_no_coreference=False)


def query(
    utterance: str,
    *,
    settings: TemplateSettings,
    spans: tuple[Span, ...] = (),
    ends: EllipsisEnds = "both",
) -> str:
    built = build_query(
        tokenize(utterance), settings=settings, coreference=spans, ellipsis_ends=lambda: ends
    )
    return " ".join(built.items)


class TestReferringExpressions:
    """Matching the collection."""

    @pytest.mark.parametrize(
        ("utterance", "spans"),
        [
            ("No, he is", ((2, 3),)),
            ("HE and He", ((0, 1), (2, 3))),
            ("the same place", ((0, 3),)),
            ("the same", ((0, 2),)),
            ("the place", ()),
            ("here she the", ()),
            ("他们和他的", ((0, 2), (3, 4))),
            ("他們", ((0, 1),)),
            ("he he", ((0, 1), (1, 2))),
            ("", ()),
        ],
    )
    def test_the_longest_match_wins(self, utterance: str, spans: tuple[Span, ...]) -> None:
        collection = ReferringExpressions(["he", "the same", "the same place", "他", "他 们"])
        assert collection.spans(tokenize(utterance)) == spans

    def test_matches_do_not_overlap(self) -> None:
        collection = ReferringExpressions(["a b", "b c", "c"])
        assert collection.spans(tokenize("a b c")) == ((0, 2), (2, 3))

    def test_an_empty_collection_finds_nothing(self) -> None:
        assert ReferringExpressions([]).spans(tokenize("he")) == ()

    @given(texts)
    def test_spans_are_ordered_and_in_range(self, text: str) -> None:
        tokens = tokenize(text)
        done = 0
        for start, end in ReferringExpressions(["he", "他", "the type"]).spans(tokens):
            assert done <= start < end <= len(tokens)
            done = end


class TestBuildQuery:
    """Putting in the marks."""

    @pytest.mark.parametrize(
        ("ends", "expected"),
        [
            ("begin", f"{ELLIP} does not care"),
            ("end", f"does not care {ELLIP}"),
            ("both", f"{ELLIP} does not care {ELLIP}"),
        ],
    )
    @pytest.mark.parametrize("settings", [TemplateSettings(), BOTH_PARTS])
    def test_an_ellipsis_is_marked_at_its_ends(
        self, settings: TemplateSettings, ends: EllipsisEnds, expected: str
    ) -> None:
        assert query("does not care", settings=settings, ends=ends) == expected

    def test_a_reference_is_marked_and_switches_the_ellipsis_part_off(self) -> None:
        found = query("No, he cares for it", settings=TemplateSettings(), spans=((2, 3), (5, 6)))
        assert found == f"No , {COREF} cares for {COREF}"

    def test_both_parts_may_be_used_together(self) -> None:
        found = query("he cares", settings=BOTH_PARTS, spans=((0, 1),), ends="end")
        assert found == f"{COREF} cares {ELLIP}"

    def test_a_span_of_several_tokens_gets_one_mark(self) -> None:
        found = query("find the same place", settings=TemplateSettings(), spans=((1, 4),))
        assert found == f"find {COREF}"

    @pytest.mark.parametrize(
        ("off", "expected"),
        [
            ({"query": False}, ""),
            ({"coreference": False}, f"{ELLIP} he cares {ELLIP}"),
            ({"ellipsis": False}, f"{COREF} cares"),
            ({"coreference": False, "ellipsis": False}, "he cares"),
        ],
    )
    def test_parts_can_be_ablated(self, off: dict[str, bool], expected: str) -> None:
        settings = attrs.evolve(TemplateSettings(), **off)
        assert query("he cares", settings=settings, spans=((0, 1),)) == expected

    @pytest.mark.parametrize(
        "settings",
        [
            TemplateSettings(),
            TemplateSettings(query=False),
            TemplateSettings(ellipsis=False, ellipsis_if_no_coreference=False),
        ],
    )
    def test_nothing_is_parsed_in_vain(self, settings: TemplateSettings) -> None:
        def parse() -> EllipsisEnds:
            raise AssertionError("parsed")

        tokens = tokenize("he cares")
        build_query(tokens, settings=settings, coreference=((0, 1),), ellipsis_ends=parse)

    @given(texts)
    def test_no_token_looks_like_a_mark(self, text: str) -> None:
        tokens = tokenize(text + "[COREF][ELLIP]")
        settings = TemplateSettings(ellipsis=False)
        built = build_query(tokens, settings=settings, coreference=(), ellipsis_ends=lambda: "both")
        assert built.items == tuple(token.text for token in tokens)
        assert not {COREF, ELLIP} & set(built.items)
