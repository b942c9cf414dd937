"""The result cache."""

from __future__ import annotations

from queen_sdk.cache import ResultCache, dialogue_digest
from queen_sdk.options import CallOptions
from queen_sdk.values import RewriteResult, Turn


def result(text: str) -> RewriteResult:
    return RewriteResult(text, original=text)


def test_the_least_recently_used_goes_first() -> None:
    cache = ResultCache(2)
    one, two, three = (result(text) for text in "abc")
    cache.add(b"1", one)
    cache.add(b"2", two)
    assert cache.get(b"1") is one
    cache.add(b"3", three)
    assert len(cache) == 2
    assert cache.get(b"2") is None
    assert cache.get(b"1") is one


def test_the_first_of_two_equal_results_stays() -> None:
    cache = ResultCache(2)
    first = result("a")
    assert cache.add(b"1", first) is first
    assert cache.add(b"1", result("a")) is first


def test_different_dialogues_have_different_digests() -> None:
    plain, turns = CallOptions(), (Turn("a"), Turn("b"))
    digests = {
        dialogue_digest(turns, "c", plain),
        dialogue_digest((Turn("ab"),), "c", plain),
        dialogue_digest((Turn("a"),), "bc", plain),
        dialogue_digest((Turn("a"), Turn("b", role="assistant")), "c", plain),
        dialogue_digest(turns[::-1], "c", plain),
        dialogue_digest((), "c", plain),
        dialogue_digest(turns, "c", CallOptions(threshold=0.0)),
        dialogue_digest(turns, "c", CallOptions(min_confidence=0.5)),
        dialogue_digest(turns, "c", CallOptions(protect=("a",))),
        dialogue_digest(turns, "\ud800", plain),
    }
    assert len(digests) == 10
    assert dialogue_digest(list(turns), "c", CallOptions()) in digests
