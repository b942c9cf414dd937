"""The rewriter: whole dialogues through the tiny bundle, and everything odd that may be asked."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import processor_seconds, undo
from hypothesis import given
from hypothesis import strategies as st
from strategies import dialogues, histories, texts

from queen_sdk import DecodingSettings, Rewriter, RewriteResult, Token, Turn, decode
from queen_sdk.bundle import read_manifest
from queen_sdk.decoding import Decoding, Piece, Scores, TokenEdit
from queen_sdk.errors import ClosedError, InvalidArgumentError, UnknownBundleError
from queen_sdk.rows import Row
from queen_sdk.tokenization import tokenize

Altered = Callable[..., Path]

HISTORY = [
    "Smith needs to find an expensive restaurant nearby.",
    "Does Smith care about the type of cuisine?",
]
UTTERANCE = "No, he does not care."
REWRITTEN = "No, Smith does not care."

thresholds = st.sampled_from((None, -1.0, -3.0))
"""The lower, the more is copied."""


def words(text: str) -> set[str]:
    """Return the words of a text in lower case; a token such as don't counts as its parts."""
    found: set[str] = set()
    for token in tokenize(text):
        found.update(re.split(r"[\W_]+", token.text.casefold()))
    return found - {""}


class TestRewrite:
    """What comes back for a dialogue."""

    def test_a_pronoun_is_replaced_by_what_it_stands_for(self, rewriter: Rewriter) -> None:
        result = rewriter.rewrite(HISTORY, UTTERANCE)
        assert (result.text, result.original) == (REWRITTEN, UTTERANCE)
        assert result.changed
        assert result.skip_reason is None
        (edit,) = result.edits
        assert (edit.kind, edit.start, edit.end, edit.text) == ("substitute", 4, 6, "Smith")
        (source,) = edit.sources
        assert source.turn is not None
        assert HISTORY[source.turn][source.start : source.end] == source.text == "Smith"
        assert result.confidence is not None
        assert 0.5 < result.confidence <= 1
        assert (result.language, result.model, result.dropped_turns) == ("en", "tiny 1", 0)
        assert result.timings.total > result.timings.run > 0

    def test_a_complete_utterance_is_the_same_object(self, rewriter: Rewriter) -> None:
        utterance = "".join(["Smith does not", " care."])
        result = rewriter.rewrite(HISTORY, utterance)
        assert result.text is utterance
        assert result.edits == ()
        assert result.skip_reason == "already_complete"
        assert result.confidence is not None

    @pytest.mark.parametrize(
        "history",
        [
            HISTORY,
            tuple(HISTORY),
            [Turn(text) for text in HISTORY],
            [("user", HISTORY[0]), ("assistant", HISTORY[1])],
            [["user", HISTORY[0]], ["bot", HISTORY[1]]],
            [{"role": "user", "content": HISTORY[0]}, {"role": "AI", "content": HISTORY[1]}],
            [HISTORY[0], ("assistant", HISTORY[1])],
        ],
    )
    def test_every_history_form_gives_the_same(self, rewriter: Rewriter, history: Any) -> None:
        assert rewriter.rewrite(history, UTTERANCE) == rewriter.rewrite(HISTORY, UTTERANCE)

    @pytest.mark.parametrize(
        ("history", "utterance", "text"),
        [
            (["史密斯 is here"], "Does 他 care?", "Does 史密斯 care?"),
            (["Smith在北京"], "他呢", "Smith呢"),
            (["史密斯關心臺灣"], "他關心嗎？", "史密斯關心嗎？"),
        ],
    )
    def test_mixed_and_traditional_text(
        self, rewriter: Rewriter, history: list[str], utterance: str, text: str
    ) -> None:
        assert rewriter.rewrite(history, utterance).text == text

    @pytest.mark.parametrize(
        ("history", "utterance"),
        [
            (["Anna: Smith is here", "Tom: I see"], "does he care"),
            (["Anna: Smith is here", "Tom: I see"], "Anna: does he care"),
            (["用户：Smith is here", "客服： I see"], "用户: does he care"),
            ([("system", "Anna"), "Smith is here", ("tool", "Tom"), "I see"], "does he care"),
        ],
    )
    def test_speaker_tags_and_silent_turns_are_no_words(
        self, rewriter: Rewriter, history: list[Any], utterance: str
    ) -> None:
        explanation = rewriter.explain(history, utterance, threshold=-20.0)
        said = [row.token.text for row in explanation.rows if row.turn is not None]
        assert said == ["Smith", "is", "here", "I", "see"]
        assert [token.text for token in explanation.utterance] == ["does", "he", "care"]
        assert explanation.result.changed
        assert not {"anna", "tom", "用", "客"} & words(explanation.result.text.split(":")[-1])

    def test_traditional_characters_stay_traditional(self, rewriter: Rewriter) -> None:
        history = ["我喜歡臺灣的麵條，關於這裡的天氣"]
        result = rewriter.rewrite(history, "他說什麼？", threshold=-20.0)
        assert result.changed
        assert set(result.text) <= set("".join([*history, "他說什麼？"])) | set("ofabout'的 s")


class TestUntouched:
    """Dialogues that come back as they are, and why."""

    @pytest.mark.parametrize("utterance", ["", " ", "\n\t\u3000", "\x00", "\u200f\u200b", "\ud800"])
    @pytest.mark.parametrize("history", [HISTORY, ["史密斯在北京"]])
    def test_an_empty_utterance(
        self, rewriter: Rewriter, history: list[str], utterance: str
    ) -> None:
        result = rewriter.rewrite(history, utterance)
        assert result.text is utterance
        assert result.skip_reason == "empty_utterance"
        assert result.confidence is None

    @pytest.mark.parametrize(
        "history",
        [
            [],
            (),
            [""],
            [" \n", "\u3000"],
            [UTTERANCE],
            [f" {UTTERANCE}\n"],
            [("system", "Smith is here.")],
            [("tool", "Smith"), ("system", "Anna")],
            ["\u200b"],
        ],
    )
    def test_an_empty_history(self, rewriter: Rewriter, history: Sequence[Any]) -> None:
        result = rewriter.rewrite(history, UTTERANCE)
        assert result.text is UTTERANCE
        assert (result.skip_reason, result.changed) == ("no_history", False)

    def test_nothing_at_all(self, rewriter: Rewriter) -> None:
        assert rewriter.rewrite([], "").skip_reason == "empty_utterance"

    @pytest.mark.parametrize(
        ("language", "history", "utterance"),
        [
            ("ko", "스미스는 여기 있어요", "그는 어때요?"),
            ("ar", "سميث هنا الآن", "ماذا عنه؟"),
            ("ja", "スミスさんはここにいます", "彼はどうですか"),
            ("ru", "Смит сейчас здесь", "а что он думает?"),
            ("fr", "Le restaurant est dans la rue", "et elle est avec les autres ?"),
            ("de", "Das Restaurant ist nicht weit", "und was ist mit ihr?"),
            ("und", "আজ আবহাওয়া কেমন", "এবং কাল?"),
        ],
    )
    def test_a_language_without_a_bundle(
        self, rewriter: Rewriter, language: str, history: str, utterance: str
    ) -> None:
        result = rewriter.rewrite([history], utterance)
        assert result.text is utterance
        assert (result.skip_reason, result.language) == ("unsupported_language", language)
        assert (result.confidence, result.model) == (None, None)

    def test_an_utterance_that_fills_the_window(self, rewriter: Rewriter) -> None:
        utterance = "does he care " * 10_000
        result = rewriter.rewrite(HISTORY, utterance)
        assert result.text is utterance
        assert (result.skip_reason, result.dropped_turns) == ("utterance_too_long", 2)

    def test_low_confidence(self, rewriter: Rewriter) -> None:
        sure = rewriter.rewrite(HISTORY, UTTERANCE).confidence
        assert sure is not None
        kept = rewriter.rewrite(HISTORY, UTTERANCE, min_confidence=sure)
        assert kept.text == REWRITTEN
        result = rewriter.rewrite(HISTORY, UTTERANCE, min_confidence=min(sure + 1e-9, 1.0))
        assert result.text is UTTERANCE
        assert (result.skip_reason, result.edits) == ("low_confidence", ())
        assert result.confidence == sure

    def test_min_confidence_does_not_touch_what_is_complete(self, rewriter: Rewriter) -> None:
        result = rewriter.rewrite(HISTORY, "Smith does not care.", min_confidence=1.0)
        assert result.skip_reason == "already_complete"


class TestOptions:
    """What can be set per call, and what cannot."""

    def test_a_high_threshold_forbids_every_edit(self, rewriter: Rewriter) -> None:
        assert not rewriter.rewrite(HISTORY, UTTERANCE, threshold=1e300).changed

    def test_a_low_threshold_allows_more(self, rewriter: Rewriter) -> None:
        few = rewriter.rewrite(HISTORY, UTTERANCE).edits
        many = rewriter.rewrite(HISTORY, UTTERANCE, threshold=-2.5).edits
        assert len(many) > len(few)
        assert rewriter.rewrite(HISTORY, UTTERANCE, threshold=-1e300).changed

    @pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "1", True, 10**400])
    def test_a_threshold_is_a_finite_number(self, rewriter: Rewriter, threshold: Any) -> None:
        calls: list[Callable[[], object]] = [
            lambda: rewriter.rewrite(HISTORY, UTTERANCE, threshold=threshold),
            lambda: rewriter.rewrite_batch([], threshold=threshold),
            lambda: rewriter.rewrite_many([], threshold=threshold),
            lambda: rewriter.explain(HISTORY, UTTERANCE, threshold=threshold),
        ]
        for call in calls:
            with pytest.raises(InvalidArgumentError, match="threshold must be a finite number"):
                call()

    @pytest.mark.parametrize("size", [0, -1, True, 1.5, None])
    def test_a_batch_holds_something(self, rewriter: Rewriter, size: Any) -> None:
        for method in (rewriter.rewrite_batch, rewriter.rewrite_many):
            with pytest.raises(InvalidArgumentError, match="batch_size must be a whole number"):
                method([], batch_size=size)

    @pytest.mark.parametrize("threads", [0, -2, True, 1.5, "2"])
    def test_threads_are_checked(self, tiny_bundle_dir: Path, threads: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="threads must be a whole number"):
            Rewriter(tiny_bundle_dir, threads=threads)

    @pytest.mark.parametrize(
        ("history", "utterance"),
        [
            ("Smith", "he"),
            (["Smith", 5], "he"),
            (["Smith", None], "he"),
            ([("narrator", "Smith")], "he"),
            (["Smith"], None),
            (["Smith"], b"he"),
            (None, "he"),
        ],
    )
    def test_dialogues_are_checked(self, rewriter: Rewriter, history: Any, utterance: Any) -> None:
        for method in (rewriter.rewrite, rewriter.explain):
            with pytest.raises(InvalidArgumentError):
                method(history, utterance)

    @pytest.mark.parametrize("dialogue", ["ab", (HISTORY,), (HISTORY, "a", "b"), None, 5, {}])
    def test_a_dialogue_is_a_pair(self, rewriter: Rewriter, dialogue: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="a dialogue must be a pair of history and"):
            rewriter.rewrite_batch([(HISTORY, UTTERANCE), dialogue])


class TestProtection:
    """Protected terms."""

    @pytest.mark.parametrize("protect", [["he"], ["HE"], ["no, he"], ("x", "he does")])
    def test_a_protected_term_is_not_replaced(
        self, rewriter: Rewriter, protect: Sequence[str]
    ) -> None:
        results = [
            rewriter.rewrite(HISTORY, UTTERANCE, protect=protect),
            rewriter.explain(HISTORY, UTTERANCE, protect=protect).result,
            *rewriter.rewrite_batch([(HISTORY, UTTERANCE)], protect=protect),
        ]
        for result in results:
            assert "he does not care." in result.text
            assert all(edit.kind == "insert" for edit in result.edits)

    def test_terms_may_come_from_an_iterator(self, rewriter: Rewriter) -> None:
        batch = [(HISTORY, UTTERANCE)] * 3
        results = list(rewriter.rewrite_many(batch, protect=iter(["he"]), batch_size=1))  # type: ignore[arg-type]
        assert ["he does not care." in result.text for result in results] == [True] * 3

    @given(data=st.data())
    def test_a_protected_term_is_still_there(self, rewriter: Rewriter, data: st.DataObject) -> None:
        history, utterance = data.draw(dialogues)
        tokens = tokenize(utterance)
        if not tokens:
            return
        first = data.draw(st.integers(0, len(tokens) - 1))
        last = data.draw(st.integers(first, len(tokens) - 1))
        start, end = tokens[first].start, tokens[last].end
        term = utterance[start:end]
        result = rewriter.rewrite(history, utterance, protect=[term], threshold=-3.0)
        assert term in result.text
        for edit in result.edits:
            assert edit.end <= start or edit.start >= end


class TestProperties:
    """What holds for any dialogue."""

    @given(history=histories, utterance=texts, threshold=thresholds)
    def test_any_text_is_rewritten_or_returned(
        self, rewriter: Rewriter, history: list[str], utterance: str, threshold: float | None
    ) -> None:
        result = rewriter.rewrite(history, utterance, threshold=threshold)
        assert result.original is utterance
        assert result.changed == (result.skip_reason is None)

    @given(dialogue=dialogues, threshold=thresholds)
    def test_no_edit_returns_the_same_object(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        result = rewriter.rewrite(*dialogue, threshold=threshold)
        assert (result.text is dialogue[1]) == (not result.edits)
        assert result.edits or result.skip_reason

    @given(dialogue=dialogues, threshold=thresholds)
    def test_edits_undone_give_the_original(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        result = rewriter.rewrite(*dialogue, threshold=threshold)
        assert undo(result.text, result.edits, dialogue[1]) == dialogue[1]

    @given(dialogue=dialogues, threshold=thresholds)
    def test_sources_slice_back_to_their_text(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        history, _ = dialogue
        for edit in rewriter.rewrite(*dialogue, threshold=threshold).edits:
            assert edit.sources
            for source in edit.sources:
                if source.turn is None:
                    assert source.text in ("of", "about", "的", "'s")
                else:
                    assert history[source.turn][source.start : source.end] == source.text

    @given(dialogue=dialogues, threshold=thresholds)
    def test_nothing_outside_the_dialogue_appears(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        history, utterance = dialogue
        result = rewriter.rewrite(history, utterance, threshold=threshold)
        allowed = words(utterance) | {"of", "about", "的", "s"}
        for text in history:
            allowed |= words(text)
        assert words(result.text) <= allowed

    @given(
        batch=st.lists(st.one_of(dialogues, st.tuples(histories, texts)), max_size=6),
        size=st.integers(1, 4),
    )
    def test_batch_equals_single(
        self, rewriter: Rewriter, batch: list[tuple[list[str], str]], size: int
    ) -> None:
        alone = [rewriter.rewrite(*dialogue) for dialogue in batch]
        for together in (
            rewriter.rewrite_batch(batch, batch_size=size),
            list(rewriter.rewrite_many(iter(batch), batch_size=size)),
        ):
            for one, other in zip(alone, together, strict=True):
                assert_same(one, other)


def assert_same(one: RewriteResult, other: RewriteResult) -> None:
    """Check that two results differ by rounding at most."""
    assert one.confidence == pytest.approx(other.confidence, abs=1e-5)
    assert [e.score for e in one.edits] == pytest.approx([e.score for e in other.edits], abs=1e-5)
    unscored = [
        attrs.evolve(r, confidence=None, edits=tuple(attrs.evolve(e, score=0.0) for e in r.edits))
        for r in (one, other)
    ]
    assert unscored[0] == unscored[1]


class TestMany:
    """Many dialogues, lazily."""

    def test_results_come_in_order_and_as_they_are_asked_for(self, rewriter: Rewriter) -> None:
        taken: list[int] = []

        def source() -> Iterator[tuple[list[str], str]]:
            for k in range(10):
                taken.append(k)
                yield (HISTORY, f"No, he does {k}.")

        results = rewriter.rewrite_many(source(), batch_size=3)
        assert taken == []
        assert next(results).text == "No, Smith does 0."
        assert taken == [0, 1, 2]
        assert [result.original for result in results] == [
            f"No, he does {k}." for k in range(1, 10)
        ]

    def test_nothing_in_nothing_out(self, rewriter: Rewriter) -> None:
        assert rewriter.rewrite_batch([]) == []
        assert list(rewriter.rewrite_many([])) == []

    def test_dialogues_that_are_skipped_keep_their_place(self, rewriter: Rewriter) -> None:
        batch = [([], "he"), (HISTORY, UTTERANCE), (HISTORY, " "), (HISTORY, UTTERANCE)]
        assert [result.text for result in rewriter.rewrite_batch(batch)] == [
            "he",
            REWRITTEN,
            " ",
            REWRITTEN,
        ]


class TestExplain:
    """The scores behind a rewrite."""

    def test_it_shows_what_the_model_saw(self, rewriter: Rewriter) -> None:
        explanation = rewriter.explain(HISTORY, UTTERANCE)
        assert explanation.result == rewriter.rewrite(HISTORY, UTTERANCE)
        assert explanation.query == ("No", ",", "[COREF]", "does", "not", "care", ".")
        assert [t.text for t in explanation.utterance] == [t.text for t in tokenize(UTTERANCE)]
        shape = (2, len(explanation.rows), len(explanation.utterance) + 1)
        assert explanation.scores.shape == shape
        (edit,) = explanation.result.edits
        best = np.unravel_index(explanation.scores.argmax(), shape)
        assert best[0] == 0
        assert explanation.rows[best[1]].token.text == edit.text
        assert explanation.scores[best] == pytest.approx(edit.score)

    def test_a_skipped_dialogue_has_no_scores(self, rewriter: Rewriter) -> None:
        explanation = rewriter.explain([], UTTERANCE)
        assert explanation.result.skip_reason == "no_history"
        assert explanation.scores.shape == (2, 0, 0)
        assert (explanation.query, explanation.rows, explanation.utterance) == ((), (), ())


class TestDecoder:
    """A decoder of one's own."""

    def test_it_replaces_the_one_of_the_package(self, tiny_bundle_dir: Path) -> None:
        asked: list[tuple[Any, ...]] = []

        def first_row(
            scores: Scores,
            rows: Sequence[Row],
            utterance: Sequence[Token],
            settings: DecodingSettings,
            protected: frozenset[int],
        ) -> Decoding:
            asked.append((scores.shape, len(rows), len(utterance), settings, protected))
            edit = TokenEdit("insert", len(utterance), len(utterance), (Piece(0, 0, 1.0),), 1.0)
            return Decoding((edit,), 1.0, -1.0)

        with Rewriter(tiny_bundle_dir, threads=1, decoder=first_row) as rewriter:
            result = rewriter.rewrite(["Smith"], "he does", threshold=0.5, protect=["does"])
        assert result.text == "he does of"
        settings = DecodingSettings(substitute_threshold=0.5, insert_threshold=0.5)
        assert asked == [((2, 5, 3), 5, 2, settings, frozenset({1}))]

    def test_the_one_of_the_package_can_be_wrapped(self, tiny_bundle_dir: Path) -> None:
        found: list[TokenEdit] = []

        def no_substitutions(*arguments: Any) -> Decoding:
            decoding = decode(*arguments)
            found.extend(decoding.edits)
            return attrs.evolve(
                decoding, edits=tuple(e for e in decoding.edits if e.kind == "insert")
            )

        with Rewriter.from_pretrained(tiny_bundle_dir, decoder=no_substitutions) as rewriter:
            result = rewriter.rewrite(HISTORY, UTTERANCE)
        assert [edit.kind for edit in found] == ["substitute"]
        assert result.text is UTTERANCE


class TestLongDialogues:
    """Histories beyond the window."""

    @pytest.mark.parametrize(
        ("history", "dropped"),
        [
            ([*["no yes what"] * 998, *HISTORY], range(900, 1_000)),
            (["no " * 33_333, HISTORY[0]], range(1, 2)),
            (["Anna", "no " * 33_333 + HISTORY[0]], range(2, 3)),
            (["没有" * 50_000 + "史密斯"], range(1, 2)),
            (["no" + "\n" * 100_000 + "Smith"], range(1, 2)),
            (["Smith" + " " * 100_000], range(1)),
            (["Smith", *["\u200b"] * 100], range(1)),
        ],
    )
    def test_the_newest_part_is_read_in_good_time(
        self, rewriter: Rewriter, history: list[str], dropped: range
    ) -> None:
        assert processor_seconds(lambda: rewriter.rewrite(history, UTTERANCE)) < 1
        result = rewriter.rewrite(history, UTTERANCE)
        assert re.search("(Smith|史密斯) does not care", result.text)
        assert result.dropped_turns in dropped

    @pytest.mark.parametrize(
        "make_dialogue",
        [
            lambda n: ([HISTORY[0]] * n, UTTERANCE),
            lambda n: (["Smith is here. " * n], UTTERANCE),
            lambda n: (["\n" * (20 * n) + 'x The Smith"'], UTTERANCE),
            lambda n: (HISTORY, "x" + "\n" * (20 * n) + "Y he"),
            lambda n: (HISTORY, '"' * 50 + "x" * (20 * n) + " he"),
        ],
    )
    def test_time_is_not_quadratic(self, rewriter: Rewriter, make_dialogue: Any) -> None:
        def seconds(size: int) -> float:
            history, utterance = make_dialogue(size)
            return processor_seconds(lambda: rewriter.rewrite(history, utterance, threshold=-20.0))

        # Linear is 8 times, quadratic 64.
        assert seconds(4_000) < 30 * seconds(500) + 0.05


class TestBundles:
    """Which model answers."""

    def test_each_dialogue_gets_the_bundle_of_its_language(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            batch: list[tuple[list[str], str]] = [
                (HISTORY, UTTERANCE),
                (["史密斯在北京"], "他呢"),
                (["스미스는 여기"], "그는 어때요"),
                (HISTORY, UTTERANCE),
            ]
            results = rewriter.rewrite_batch(batch)
        assert [(r.model, r.language) for r in results] == [
            ("en 1", "en"),
            ("zh 1", "zh"),
            (None, "ko"),
            ("en 1", "en"),
        ]
        assert [r.text for r in results] == [REWRITTEN, "史密斯呢", "그는 어때요", REWRITTEN]

    def test_models_are_loaded_when_they_are_needed(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            (embedded / "zh" / "model.onnx").unlink()
            assert rewriter.rewrite(HISTORY, UTTERANCE).text == REWRITTEN
            with pytest.raises(Exception, match=r"model\.onnx: the file is missing"):
                rewriter.rewrite(["史密斯在北京"], "他呢")

    @pytest.mark.parametrize("name", ["ko", "no/such/place", ""])
    def test_an_unknown_bundle_is_told_with_the_known_ones(self, embedded: Path, name: str) -> None:
        with pytest.raises(UnknownBundleError, match=r"embedded bundles are: en, zh"):
            Rewriter(name)

    def test_a_bundle_by_name_serves_its_language_only(self, embedded: Path) -> None:
        with Rewriter("zh", threads=1) as rewriter:
            assert rewriter.rewrite(["史密斯在北京"], "他呢").text == "史密斯呢"
            assert rewriter.rewrite(HISTORY, UTTERANCE).skip_reason == "unsupported_language"

    def test_an_installation_without_bundles_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("queen_sdk.bundle.loading.EMBEDDED", tmp_path)
        with pytest.raises(UnknownBundleError, match="no bundle comes with this installation"):
            Rewriter()

    def test_thresholds_are_those_of_the_manifest(self, altered_bundle: Altered) -> None:
        settings = DecodingSettings(substitute_threshold=99.0, insert_threshold=99.0)
        with Rewriter(altered_bundle(decoding=settings), threads=1) as rewriter:
            assert not rewriter.rewrite(HISTORY, UTTERANCE).changed
            assert rewriter.rewrite(HISTORY, UTTERANCE, threshold=0.0).text == REWRITTEN

    def test_warm_up_loads_what_is_named(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            rewriter.warm_up("zh")
            for name in ("en", "zh"):
                (embedded / name / "model.onnx").unlink()
            assert rewriter.rewrite(["史密斯在北京"], "他呢").text == "史密斯呢"
            with pytest.raises(
                UnknownBundleError, match=r"for the language 'ko'; there are: en, zh"
            ):
                rewriter.warm_up("ko")

    def test_warm_up_loads_everything_if_nothing_is_named(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            rewriter.warm_up()
            for name in ("en", "zh"):
                (embedded / name / "model.onnx").unlink()
            assert rewriter.rewrite(HISTORY, UTTERANCE).model == "en 1"
            assert rewriter.rewrite(["史密斯在北京"], "他呢").model == "zh 1"

    def test_the_provider_tells_the_truth(self, rewriter: Rewriter, embedded: Path) -> None:
        assert rewriter.provider == "CPUExecutionProvider"
        with Rewriter(providers=["cpu"], threads=1) as by_language:
            assert by_language.provider == "CPUExecutionProvider"

    def test_the_model_is_the_one_of_the_manifest(self, tiny_bundle_dir: Path) -> None:
        manifest = read_manifest(tiny_bundle_dir)
        with Rewriter(str(tiny_bundle_dir), threads=1) as rewriter:
            name = rewriter.rewrite(HISTORY, UTTERANCE).model
        assert name == f"{manifest.name} {manifest.version}"


class TestClosing:
    """The end of a rewriter."""

    def test_a_closed_rewriter_refuses(self, tiny_bundle_dir: Path) -> None:
        with Rewriter(tiny_bundle_dir, threads=1) as rewriter:
            lazy = rewriter.rewrite_many([(HISTORY, UTTERANCE)])
        rewriter.close()
        calls: list[Callable[[], object]] = [
            lambda: rewriter.rewrite(HISTORY, UTTERANCE),
            lambda: rewriter.rewrite([], ""),
            lambda: rewriter.explain(HISTORY, UTTERANCE),
            lambda: rewriter.provider,
            lambda: next(lazy),
            rewriter.warm_up,
        ]
        for call in calls:
            with pytest.raises(ClosedError, match="was closed"):
                call()

    def test_a_closed_rewriter_of_embedded_bundles_refuses(self, embedded: Path) -> None:
        with Rewriter(threads=1) as rewriter:
            rewriter.rewrite(HISTORY, UTTERANCE)
        calls: list[Callable[[], object]] = [
            lambda: rewriter.rewrite(HISTORY, UTTERANCE),
            lambda: rewriter.provider,
            rewriter.warm_up,
        ]
        for call in calls:
            with pytest.raises(ClosedError, match="was closed"):
                call()

    def test_a_model_that_loads_while_it_is_closed_is_freed(
        self, embedded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rewriter = Rewriter(threads=1)
        open_model = rewriter._open

        def open_and_close(bundle: str) -> Any:
            model = open_model(bundle)
            rewriter.close()
            return model

        monkeypatch.setattr(rewriter, "_open", open_and_close)
        with pytest.raises(ClosedError, match="was closed"):
            rewriter.rewrite(HISTORY, UTTERANCE)

    def test_calls_in_other_threads_finish_or_are_refused(self, tiny_bundle_dir: Path) -> None:
        rewriter = Rewriter(tiny_bundle_dir, threads=1)
        expected = rewriter.rewrite(HISTORY, UTTERANCE)
        running = threading.Barrier(5)

        def work() -> int:
            running.wait()
            done = 0
            try:
                while True:
                    assert rewriter.rewrite(HISTORY, UTTERANCE) == expected
                    done += 1
            except ClosedError:
                return done

        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(work) for _ in range(4)]
            running.wait()
            time.sleep(0.1)
            rewriter.close()
            assert sum(future.result(timeout=30) for future in futures) > 0


class TestThreads:
    """One rewriter for everybody."""

    DIALOGUES = tuple(
        ([f"Smith is in room {k}.", "史密斯在北京" if k % 3 == 0 else HISTORY[k % 2]], utterance)
        for k, utterance in enumerate([UTTERANCE, "Does he?", "他去哪儿", "what about it"] * 10)
    )

    def test_eight_threads_get_what_one_gets(self, rewriter: Rewriter) -> None:
        expected = [rewriter.rewrite(*d, threshold=-1.0) for d in self.DIALOGUES]
        ready = threading.Barrier(8)

        def work(_: int) -> list[RewriteResult]:
            ready.wait()
            return [rewriter.rewrite(*d, threshold=-1.0) for d in self.DIALOGUES]

        with ThreadPoolExecutor(8) as pool:
            for results in pool.map(work, range(8)):
                assert results == expected

    def test_eight_threads_may_load_the_models(self, embedded: Path) -> None:
        ready = threading.Barrier(8)
        with Rewriter(threads=1) as rewriter, ThreadPoolExecutor(8) as pool:

            def work(k: int) -> str:
                ready.wait()
                if k % 2:
                    return rewriter.rewrite(HISTORY, UTTERANCE).text
                return rewriter.rewrite(["史密斯在北京"], "他呢").text

            assert list(pool.map(work, range(8))) == ["史密斯呢", REWRITTEN] * 4


FORK = """
import os, sys, threading
from queen_sdk import Rewriter

history, utterance = ["Smith is here."], "No, he does not care."
rewriter = Rewriter(sys.argv[1], threads=2)
expected = rewriter.rewrite(history, utterance)
assert expected.text == "No, Smith does not care."
busy = threading.Thread(
    target=lambda: [rewriter.rewrite(history, utterance) for _ in range(10**9)], daemon=True
)
busy.start()
for _ in range(3):
    child = os.fork()
    if child == 0:
        same = all(rewriter.rewrite(history, utterance) == expected for _ in range(3))
        rewriter.close()
        sys.exit(7 if same else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
assert rewriter.rewrite(history, utterance) == expected
print("survived", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system cannot fork")
def test_the_child_of_a_fork_rewrites_too(tiny_bundle_dir: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(tiny_bundle_dir)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("survived\n", 0), done.stderr
