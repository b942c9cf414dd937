"""Real calls, type-checked by `mypy tests/typed_calls.py` and never run."""

from __future__ import annotations

from pathlib import Path

from queen_sdk import DecodingSettings, Edit, Rewriter, RewriteResult, Source, Turn


def every_history_form(rewriter: Rewriter) -> list[RewriteResult]:
    """Texts, turns, pairs and mappings."""
    return [
        rewriter.rewrite(["a", "b"], "c"),
        rewriter.rewrite([Turn("a"), Turn("b", role="assistant")], "c"),
        rewriter.rewrite([("user", "a"), ("assistant", "b")], "c", threshold=0.5),
        rewriter.rewrite([{"role": "user", "content": "a"}], "c", min_confidence=0.7),
        rewriter.rewrite(("a", Turn("b")), "c", protect=["RTX-4090"]),
    ]


def every_way_in(path: Path) -> None:
    """Constructors, batches, streams and scores."""
    with Rewriter.from_pretrained(path, providers=["cpu"], threads=1) as rewriter:
        results: list[RewriteResult] = rewriter.rewrite_batch([(["a"], "b")], batch_size=8)
        for result in rewriter.rewrite_many(((["a"], "b") for _ in range(3)), threshold=None):
            results.append(result)
        provider: str = rewriter.provider
        shape: tuple[int, ...] = rewriter.explain(["a"], provider).scores.shape
        assert len(shape) == 3


def what_comes_out(result: RewriteResult) -> tuple[str, bool, float | None]:
    """Fields and their types."""
    edits: tuple[Edit, ...] = result.edits
    sources: list[Source] = [source for edit in edits for source in edit.sources]
    assert all(source.turn is None or source.turn >= 0 for source in sources)
    assert DecodingSettings().at(0.5).insert_threshold == 0.5
    return result.text, result.changed, result.confidence
