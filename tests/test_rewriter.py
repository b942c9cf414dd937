"""The rewriter: whole dialogues through the tiny bundle."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import HISTORY, REWRITTEN, UTTERANCE, words

from queen_sdk import DecodingSettings, Rewriter, RewriteResult, Token, Turn, decode
from queen_sdk.decoding import Decoding, Piece, Scores, TokenEdit
from queen_sdk.rows import Row
from queen_sdk.tokenization import tokenize


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
