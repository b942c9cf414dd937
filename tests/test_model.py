"""One loaded bundle: protection of terms, batches, and bundles that cannot be served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from handmade import processor_seconds
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts
from tokenizers import Tokenizer

from queen_sdk.bundle import ParserSpec, load_bundle, read_manifest, write_manifest
from queen_sdk.bundle.files import Precision
from queen_sdk.decoding import Scores, decode
from queen_sdk.dialogue import read_history
from queen_sdk.errors import BundleError, DamagedBundleError, InvalidArgumentError
from queen_sdk.features import EncodedBatch
from queen_sdk.model import Model, protected_tokens
from queen_sdk.pipeline import Prepared
from queen_sdk.template import TemplateSettings
from queen_sdk.tokenization import tokenize

Altered = Callable[..., Path]


def open_model(directory: Path, precision: Precision | None = None) -> Model:
    return Model(
        load_bundle(directory), precision=precision, providers=["cpu"], threads=1, decoder=decode
    )


@pytest.fixture(scope="module")
def model(tiny_bundle_dir: Path) -> Iterator[Model]:
    opened = open_model(tiny_bundle_dir)
    yield opened
    opened.scorer.close()


class TestProtectedTokens:
    """Which tokens a term covers."""

    @pytest.mark.parametrize(
        ("utterance", "terms", "protected"),
        [
            ("is the XR-5 ok", ["XR-5"], [2]),
            ("is the xr-5 ok", ["XR-5"], [2]),
            ("New York and new york", ["New York"], [0, 1, 3, 4]),
            ("he is here", ["he"], [0, 2]),
            ("北京天气", ["北京"], [0, 1]),
            ("a a a", ["a a"], [0, 1, 2]),
            ("is it", ["was"], []),
            ("is it", [], []),
            ("İ he", ["he"], [1]),
            ("İ he", ["HE"], []),
            ("he\u200fis", ["e\u200fi"], [0, 1]),
            ("is 👩‍👩‍👧 ok", ["👧"], [1]),
            ("a.b (c)", [".b (c"], [0, 1, 2]),
        ],
    )
    def test_every_token_that_a_term_touches(
        self, utterance: str, terms: list[str], protected: list[int]
    ) -> None:
        assert protected_tokens(utterance, tokenize(utterance), terms) == frozenset(protected)

    @given(st.data())
    def test_a_part_of_the_utterance_is_always_found(self, data: st.DataObject) -> None:
        utterance = data.draw(texts.filter(bool))
        start = data.draw(st.integers(0, len(utterance) - 1))
        end = data.draw(st.integers(start + 1, len(utterance)))
        tokens = tokenize(utterance)
        found = protected_tokens(utterance, tokens, [utterance[start:end]])
        assert found >= {k for k, t in enumerate(tokens) if t.start < end and start < t.end}

    def test_time_does_not_grow_with_the_square_of_the_utterance(self) -> None:
        utterance = "a" * 100_000 + " b" * 500
        tokens = tokenize(utterance)
        assert protected_tokens(utterance, tokens, ["a"]) == frozenset({0})
        assert processor_seconds(lambda: protected_tokens(utterance, tokens, ["a"])) < 0.5


class TestScoring:
    """Batches."""

    DIALOGUES = (
        (["Smith is here"], "does he care"),
        (["no", "Anna likes the restaurant", "yes"], "where is it and who"),
        (["他喜欢北京"], "天气怎样"),
        (["Smith"], "he"),
        (["the expensive restaurant nearby in there"], "i like that a"),
    )

    def prepared(self, model: Model) -> list[Prepared]:
        found = [model.pipeline.prepare(read_history(h), u) for h, u in self.DIALOGUES]
        assert all(isinstance(p, Prepared) for p in found)
        return [p for p in found if isinstance(p, Prepared)]

    @pytest.mark.parametrize("batch_size", [1, 2, 3, 32])
    def test_scores_do_not_depend_on_the_batch(self, model: Model, batch_size: int) -> None:
        prepared = self.prepared(model)
        together = model.score(prepared, batch_size=batch_size)
        for one, scored in zip(prepared, together, strict=True):
            assert scored.prepared is one
            alone = model.score([one], batch_size=1)[0].scores
            rows, columns = len(one.features.rows), len(one.features.utterance) + 1
            assert alone.shape == scored.scores.shape == (2, rows, columns)
            np.testing.assert_allclose(scored.scores, alone, atol=1e-6, rtol=0)

    @pytest.mark.parametrize(
        ("precision", "sizes"), [("float32", [2, 2, 1]), ("int8", [1, 1, 1, 1, 1])]
    )
    def test_a_quantised_graph_runs_one_dialogue_at_a_time(
        self,
        altered_bundle: Altered,
        monkeypatch: pytest.MonkeyPatch,
        precision: Precision,
        sizes: list[int],
    ) -> None:
        directory = altered_bundle()
        if precision == "int8":
            (directory / "model.onnx").rename(directory / "model.int8.onnx")
            write_manifest(directory, read_manifest(directory))
        model = open_model(directory)
        assert model.precision == precision
        run = model.scorer.run
        seen: list[int] = []

        def spy(batch: EncodedBatch) -> Scores:
            seen.append(len(batch.input_ids))
            return run(batch)

        monkeypatch.setattr(model.scorer, "run", spy)
        model.score(self.prepared(model), batch_size=2)
        assert seen == sizes


class TestLoading:
    """Bundles that cannot be served are refused before anything runs."""

    def test_the_name_says_which_training_it_is(self, model: Model) -> None:
        assert model.name == "tiny 1"

    def test_a_precision_that_is_not_there(self, tiny_bundle_dir: Path) -> None:
        with pytest.raises(InvalidArgumentError, match="'tiny' has no int8 model; it has float32"):
            open_model(tiny_bundle_dir, "int8")

    def test_a_parser_that_is_not_there(self, altered_bundle: Altered) -> None:
        directory = altered_bundle(parser=ParserSpec("no-such-parser", sha256="0" * 64))
        with pytest.raises(BundleError, match="no-such-parser"):
            open_model(directory)

    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe"])
    def test_a_tokenizer_that_is_none(self, altered_bundle: Altered, content: bytes) -> None:
        directory = altered_bundle()
        (directory / "tokenizer.json").write_bytes(content)
        write_manifest(directory, read_manifest(directory))
        with pytest.raises(DamagedBundleError, match=r"tokenizer\.json: is not a usable tokenizer"):
            open_model(directory)

    @pytest.mark.parametrize("token", ["[SEP]", "[COREF]", "[ELLIP]"])
    def test_a_tokenizer_without_a_token_that_is_needed(
        self, altered_bundle: Altered, token: str
    ) -> None:
        directory = altered_bundle(template=TemplateSettings(shared_marker=False))
        path = directory / "tokenizer.json"
        other = path.read_text("utf-8").replace(token, "[GONE]")
        Tokenizer.from_str(other).save(str(path))
        write_manifest(directory, read_manifest(directory))
        with pytest.raises(DamagedBundleError, match=rf"the tokenizer has no \{token} token"):
            open_model(directory)
