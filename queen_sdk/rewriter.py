"""The door: dialogues in, self-contained utterances out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING

import attrs
import numpy as np

from queen_sdk.bundle import load_bundle
from queen_sdk.bundle.files import Precision
from queen_sdk.calls import Call, Dialogue, read_dialogues
from queen_sdk.choosing import Models
from queen_sdk.decoding import Decoder, Scores, decode
from queen_sdk.dialogue import HistoryItem
from queen_sdk.errors import UnknownBundleError
from queen_sdk.model import Model
from queen_sdk.options import CallOptions, at_least_one
from queen_sdk.pipeline import Prepared, Skipped
from queen_sdk.rows import Row
from queen_sdk.values import RewriteResult, Token

if TYPE_CHECKING:
    from queen_sdk.batching import MicroBatcher
    from queen_sdk.session import Recorded, Session
    from queen_sdk.stores import Store


@attrs.frozen(eq=False)
class Explanation:
    """What the model saw and how it scored it, for tools that show or debug a rewrite."""

    result: RewriteResult
    """What `rewrite` returns for the same dialogue."""
    query: tuple[str, ...] = ()
    """The query template: token texts, [COREF] and [ELLIP]."""
    rows: tuple[Row, ...] = ()
    """What could be copied: extra words and history tokens."""
    utterance: tuple[Token, ...] = ()
    """The tokens of the utterance; the scores have one more column, END."""
    scores: Scores = attrs.field(factory=lambda: np.zeros((2, 0, 0), dtype=np.float32))
    """Operations (substitute, insert before) × rows × utterance tokens and END."""


class Rewriter:
    """Rewrites incomplete utterances by editing them; safe to share between threads.

    Without a bundle, the embedded one for the language of each dialogue is used and loaded when it
    is first needed. A rewriter keeps no dialogue state.
    """

    def __init__(
        self,
        bundle: str | os.PathLike[str] | None = None,
        *,
        precision: Precision | None = None,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        decoder: Decoder = decode,
    ) -> None:
        """Open the rewriter.

        Args:
            bundle: Name of an embedded bundle or directory of another; None to go by language.
            precision: Number format of the graph; None for what suits the provider.
            providers: Execution providers of ONNX Runtime, all of them required; None for CUDA if
                it really works here, else the CPU.
            threads: Threads of one inference; None for ONNX Runtime's own choice.
            decoder: From scores to edits; replace it to change what counts as an edit.

        Raises:
            UnknownBundleError: There is no such bundle.
            BundleError: The bundle cannot be used.
            ProviderError: A requested provider is not to be had.
        """
        if threads is not None:
            at_least_one("threads", threads)
        self._precision = precision
        self._providers = providers
        self._threads = threads
        self._decoder = decoder
        self._batcher: MicroBatcher | None = None
        self._models = Models(bundle, self._open)

    @classmethod
    def from_pretrained(
        cls,
        path_or_name: str | os.PathLike[str],
        *,
        precision: Precision | None = None,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        decoder: Decoder = decode,
    ) -> Rewriter:
        """Open a rewriter for one bundle, given by name or directory."""
        return cls(
            path_or_name,
            precision=precision,
            providers=providers,
            threads=threads,
            decoder=decoder,
        )

    def _open(self, bundle: str | os.PathLike[str]) -> Model:
        return Model(
            load_bundle(bundle),
            precision=self._precision,
            providers=self._providers,
            threads=self._threads,
            decoder=self._decoder,
        )

    @property
    def provider(self) -> str:
        """The execution provider that is really active, such as CPUExecutionProvider."""
        return self._some_model().scorer.provider

    def _some_model(self) -> Model:
        return self._models.some()

    def warm_up(self, *languages: str) -> None:
        """Load the models for `languages` (all there are, if none is named) and run each once.

        Raises:
            UnknownBundleError: There is no bundle for one of the languages.
        """
        known = self._models.languages
        for language in languages or known:
            model = self._models.get(language)
            if model is None:
                raise UnknownBundleError(
                    f"no bundle for the language {language!r}; there are: {', '.join(known)}"
                )
            model.scorer.warm_up()

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Rewrite one utterance so that it can be understood without its history.

        Args:
            history: The turns before, oldest first, in any accepted form. If the last one is the
                utterance itself, that copy is left out.
            utterance: What the user said now.
            threshold: Score above which a token is copied; None for the model's own thresholds.
            min_confidence: Below this confidence the utterance comes back as it is.
            protect: Terms of the utterance that must be neither replaced nor split.

        Raises:
            InvalidArgumentError: An argument is of the wrong type or out of range.
        """
        return self.rewrite_batch(
            [(history, utterance)],
            threshold=threshold,
            min_confidence=min_confidence,
            protect=protect,
        )[0]

    def rewrite_batch(
        self,
        dialogues: Sequence[Dialogue],
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        batch_size: int = 32,
    ) -> list[RewriteResult]:
        """Rewrite several utterances; each result equals that of its own `rewrite` call."""
        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        at_least_one("batch_size", batch_size)
        calls = read_dialogues(dialogues)
        results: dict[int, RewriteResult] = {}
        waiting: dict[Model, list[tuple[int, Prepared]]] = {}
        for k, call in enumerate(calls):
            prepared = self._prepare(call)
            if isinstance(prepared, RewriteResult):
                results[k] = prepared
            else:
                waiting.setdefault(prepared[0], []).append((k, prepared[1]))
        for model, queue in waiting.items():
            scored = model.score([prepared for _, prepared in queue], batch_size=batch_size)
            for (k, _), scores in zip(queue, scored, strict=True):
                call = calls[k]
                result = model.finish(scores, call.turns, call.utterance, options)
                results[k] = attrs.evolve(result, language=call.language)
        return [results[k] for k in range(len(calls))]

    async def arewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Do what `rewrite` does, without blocking the event loop.

        Calls go through a `MicroBatcher` with its default bounds; make your own to set them.
        """
        from queen_sdk.batching import MicroBatcher

        if self._batcher is None:
            self._batcher = MicroBatcher(self)
        return await self._batcher.arewrite(
            history,
            utterance,
            threshold=threshold,
            min_confidence=min_confidence,
            protect=protect,
        )

    def session(
        self,
        id: str,
        *,
        store: Store,
        max_turns: int = 20,
        max_tokens: int = 1024,
        record: Recorded = "original",
    ) -> Session:
        """Return a dialogue whose history is kept in `store`; see `Session`."""
        from queen_sdk.session import Session

        return Session(
            self, id, store=store, max_turns=max_turns, max_tokens=max_tokens, record=record
        )

    def rewrite_many(
        self,
        dialogues: Iterable[Dialogue],
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        batch_size: int = 32,
    ) -> Iterator[RewriteResult]:
        """Rewrite any number of utterances lazily, `batch_size` at a time, in their order."""
        at_least_one("batch_size", batch_size)
        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        return self._rewrite_many(iter(dialogues), options, batch_size)

    def _rewrite_many(
        self,
        dialogues: Iterator[Dialogue],
        options: CallOptions,
        batch_size: int,
    ) -> Iterator[RewriteResult]:
        while batch := list(islice(dialogues, batch_size)):
            yield from self.rewrite_batch(
                batch,
                threshold=options.threshold,
                min_confidence=options.min_confidence,
                protect=options.protect,
                batch_size=batch_size,
            )

    def explain(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        protect: Sequence[str] = (),
    ) -> Explanation:
        """Rewrite one utterance and return the scores behind it; empty ones if it was skipped."""
        options = CallOptions(threshold=threshold, protect=protect)
        call = Call.read((history, utterance))
        prepared = self._prepare(call)
        if isinstance(prepared, RewriteResult):
            return Explanation(prepared)
        model, dialogue = prepared
        scored = model.score([dialogue], batch_size=1)[0]
        result = model.finish(scored, call.turns, call.utterance, options)
        return Explanation(
            attrs.evolve(result, language=call.language),
            query=dialogue.query.items,
            rows=dialogue.features.rows,
            utterance=dialogue.features.utterance,
            scores=scored.scores[:2],
        )

    def _prepare(self, call: Call) -> tuple[Model, Prepared] | RewriteResult:
        self._models.still_open()
        if not call.utterance.strip():
            return call.untouched("empty_utterance")
        if not call.turns:
            return call.untouched("no_history")
        model = self._models.get(call.language)
        if model is None:
            return call.untouched("unsupported_language")
        prepared = model.pipeline.prepare(call.turns, call.utterance)
        if isinstance(prepared, Skipped):
            return attrs.evolve(model.skip(prepared, call.utterance), language=call.language)
        return model, prepared

    def close(self) -> None:
        """Free the models; calls that are under way finish, later ones raise ClosedError."""
        if self._batcher is not None:
            self._batcher.close()
        self._models.close()

    def __enter__(self) -> Rewriter:
        """Return the rewriter; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the rewriter."""
        self.close()
