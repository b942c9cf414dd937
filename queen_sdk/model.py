"""One loaded bundle: its stages, its scorer, and the way from a dialogue to a result."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import attrs
import numpy as np
from tokenizers import Tokenizer

from queen_sdk.bundle import Bundle
from queen_sdk.bundle.files import Precision, damaged
from queen_sdk.confidence import confidence
from queen_sdk.decoding import Decoder, Scores
from queen_sdk.editing import apply_edits, realise
from queen_sdk.errors import InferenceError
from queen_sdk.features import FeatureBuilder, Features, PieceEncoder
from queen_sdk.options import CallOptions
from queen_sdk.parsing.registry import load_parser
from queen_sdk.pipeline import Pipeline, Prepared, Skipped
from queen_sdk.runtime import Scorer
from queen_sdk.values import RewriteResult, Token, Turn


@attrs.frozen
class Scored:
    """A prepared dialogue with its score rectangle."""

    prepared: Prepared
    scores: Scores
    milliseconds: float


class Model:
    """A bundle that is ready to rewrite; shared between threads."""

    def __init__(
        self,
        bundle: Bundle,
        *,
        precision: Precision | None,
        providers: Sequence[str] | None,
        threads: int | None,
        decoder: Decoder,
    ) -> None:
        """Load tokenizer and graph; `precision` of None takes what suits the provider."""
        manifest = bundle.manifest
        parser = None if manifest.parser is None else load_parser(manifest.parser, bundle.directory)
        self.manifest = manifest
        self.scorer, self.precision = _open_scorer(bundle, precision, providers, threads)
        self.pipeline = Pipeline(
            _feature_builder(bundle),
            template=manifest.template,
            collection=manifest.collection,
            parser=parser,
        )
        self._decoder = decoder

    @property
    def name(self) -> str:
        """Name and version, as results report them."""
        return f"{self.manifest.name} {self.manifest.version}"

    def score(self, prepared: Sequence[Prepared], *, batch_size: int) -> list[Scored]:
        """Score dialogues; the results keep their order.

        Dynamic int8 quantisation scales a whole batch at once, so there every dialogue runs alone:
        its scores never depend on its neighbours. On a CPU that costs nothing.
        """
        size = 1 if self.precision == "int8" else batch_size
        order = sorted(range(len(prepared)), key=lambda k: len(prepared[k].features.input_ids))
        found: dict[int, Scored] = {}
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            started = time.perf_counter()
            scores = self.scorer.run(
                self.pipeline.builder.batch([prepared[k].features for k in chosen])
            )
            if not np.isfinite(scores).all():
                raise InferenceError(f"{self.name} gave scores that are not numbers")
            share = (time.perf_counter() - started) * 1e3 / len(chosen)
            for k, rectangle in zip(chosen, scores, strict=True):
                own = _own_part(rectangle, prepared[k].features)
                found[k] = Scored(prepared[k], own, share)
        return [found[k] for k in range(len(prepared))]

    def finish(
        self, scored: Scored, turns: Sequence[Turn], utterance: str, options: CallOptions
    ) -> RewriteResult:
        """Decode the scores of a dialogue and edit its utterance."""
        features = scored.prepared.features
        started = time.perf_counter()
        decoding = self._decoder(
            scored.scores,
            features.rows,
            features.utterance,
            self.manifest.decoding.at(options.threshold),
            protected_tokens(utterance, features.utterance, options.protect),
        )
        sure = confidence(decoding, self.manifest.confidence)
        decoded = time.perf_counter()
        edits = realise(utterance, features.utterance, decoding.edits, features.rows, _texts(turns))
        low = bool(edits) and sure < options.min_confidence
        kept = () if low else edits
        text = apply_edits(utterance, kept)
        timings = attrs.evolve(
            scored.prepared.timings,
            run=scored.milliseconds,
            decode=(decoded - started) * 1e3,
            edit=(time.perf_counter() - decoded) * 1e3,
        )
        return RewriteResult(
            text,
            original=utterance,
            edits=kept,
            confidence=sure,
            skip_reason="low_confidence" if low else None if kept else "already_complete",
            dropped_turns=scored.prepared.dropped_turns,
            model=self.name,
            timings=timings,
        )

    def skip(self, skipped: Skipped, utterance: str) -> RewriteResult:
        """Return the untouched result of a dialogue that was not scored."""
        return RewriteResult(
            utterance,
            original=utterance,
            skip_reason=skipped.reason,
            dropped_turns=skipped.dropped_turns,
            model=self.name,
        )


def _open_scorer(
    bundle: Bundle,
    precision: Precision | None,
    providers: Sequence[str] | None,
    threads: int | None,
) -> tuple[Scorer, Precision]:
    if precision is not None:
        path = bundle.model_path(precision)
        return Scorer(path, providers=providers, threads=threads), precision
    smallest, *_, largest = (*bundle.precisions, *bundle.precisions)
    scorer = Scorer(bundle.model_path(smallest), providers=providers, threads=threads)
    if scorer.provider == "CUDAExecutionProvider" and smallest != largest:
        # int8 kernels are for CPUs: a GPU takes the next larger format.
        scorer.close()
        wider = bundle.precisions[1]
        return Scorer(bundle.model_path(wider), providers=providers, threads=threads), wider
    return scorer, smallest


def _feature_builder(bundle: Bundle) -> FeatureBuilder:
    manifest, path = bundle.manifest, bundle.tokenizer_path
    try:
        return FeatureBuilder(
            PieceEncoder(Tokenizer.from_file(str(path))),
            extra_words=manifest.extra_words,
            max_length=manifest.max_length,
            shared_marker=manifest.template.shared_marker,
            marks=manifest.template.marks,
            opening=manifest.template.opening,
        )
    except Exception as error:  # the tokenizers library raises bare Exception
        raise damaged(path, f"is not a usable tokenizer ({error})") from error


def _own_part(rectangle: Scores, features: Features) -> Scores:
    own: Scores = np.array(
        rectangle[:, : len(features.history_index), : len(features.utterance_index)]
    )
    return own


def _texts(turns: Sequence[Turn]) -> Mapping[int, str]:
    return {index: turn.text for index, turn in enumerate(turns)}


def protected_tokens(
    utterance: str, tokens: Sequence[Token], terms: Sequence[str]
) -> frozenset[int]:
    """Return the indices of the tokens that a protected term touches, in whatever case.

    A term may begin before the first token, in the tag of a speaker, or end behind the last: then
    the places there, -1 and the number of tokens, are among them.
    """
    if not terms:
        return frozenset()
    lowered = utterance.lower()
    text, fold = (lowered, True) if len(lowered) == len(utterance) else (utterance, False)
    found: set[int] = set()
    for term in terms:
        wanted = term.lower() if fold else term
        starts = []
        start = text.find(wanted)
        while start >= 0:
            starts.append(start)
            start = text.find(wanted, start + 1)
        if tokens and any(s < tokens[0].start < s + len(wanted) for s in starts):
            found.add(-1)
        if tokens and any(s < tokens[-1].end < s + len(wanted) for s in starts):
            found.add(len(tokens))
        for k, token in enumerate(tokens):
            before = bisect_left(starts, token.end)
            if before and starts[before - 1] + len(wanted) > token.start:
                found.add(k)
    return frozenset(found)
