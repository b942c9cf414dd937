"""What a model learns from its training data before training: extra words and referring spans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from queen_sdk.data.examples import Example
from queen_sdk.data.splitting import corpus_of
from queen_sdk.data.supervision import Supervision, supervise
from queen_sdk.rows import ExtraWords, build_rows
from queen_sdk.tokenization import tokenize

PRONOUNS: dict[str, tuple[str, ...]] = {
    "en": (
        "he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself",
        "they", "them", "their", "theirs", "themselves", "this", "that", "these", "those",
        "there", "one",
    ),
    "zh": (
        "他", "她", "它", "他们", "她们", "它们", "这", "那", "这个", "那个", "这些", "那些",
        "这里", "那里", "这儿", "那儿", "这样", "那样", "这么", "那么", "此", "其", "牠", "祂",
    ),
}  # fmt: skip
"""Third-person and demonstrative pronouns, the seed of every collection."""

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        (
            "a about after against all also am among an and any are around as at be because "
            "been before besides between both but by can could did do does during each either "
            "else for from had has have how i if in into is it its like me more most my near "
            "no not of off on one only or other our out over some such than that the their "
            "them then there these they this those to too under until up us was we were what "
            "when where which while who whose why will with would you your 's"
        ).split()
    ),
    "zh": frozenset(
        "的是了和里我你在有把那这对就别都也不跟与给被让从到向个吗呢吧啊什么很还又之以为上中下"
    ),
}
"""The only words that may become extra words: they say how things hang together, not what."""

_LONGEST_REFERRING_SPAN = 4


def supervise_example(example: Example, extra_words: ExtraWords) -> Supervision:
    """Return the gold edits of an example over its whole history."""
    rows = build_rows(
        ((index, tokenize(turn.text)) for index, turn in enumerate(example.history)), extra_words
    )
    return supervise(tokenize(example.utterance), tokenize(example.reference), rows)


def mine_extra_words(
    examples: Sequence[Example],
    *,
    language: str,
    limit: int,
    known: ExtraWords = ExtraWords(),  # noqa: B008 (frozen)
) -> ExtraWords:
    """Return the `known` function words and those whose absence spoils most references.

    There are `limit` in all, unless more are known. A small corpus counts as much as a large one.
    """
    sizes = Counter(corpus_of(example) for example in examples)
    counts: defaultdict[tuple[str, str], float] = defaultdict(float)
    for example in examples:
        missing = sorted(set(supervise_example(example, known).missing))
        # A reference that lacks several words needs all of them: each counts for less.
        for word, place in missing:
            if word in FUNCTION_WORDS[language]:
                counts[word, place] += 6 // len(missing) / sizes[corpus_of(example)]
    best = sorted(counts, key=lambda entry: -counts[entry])[: max(limit - len(known.all), 0)]
    return ExtraWords(
        before=(*known.before, *(word for word, place in best if place == "before")),
        after=(*known.after, *(word for word, place in best if place == "after")),
    )


def mine_collection(
    examples: Sequence[Example],
    *,
    language: str,
    extra_words: ExtraWords,
    at_least: int | None = None,
    share: float = 0.3,
) -> tuple[str, ...]:
    """Return the pronouns of `language` and the spans that are replaced often, longest first.

    A mined span was replaced `at_least` times (by default three, more often where there are many
    examples: else misspellings come in), and in this `share` of the utterances it stands in.
    Spans are token texts joined by one space, in lower case.
    """
    if at_least is None:
        at_least = max(3, round(len(examples) / 3_000))
    replaced: Counter[tuple[str, ...]] = Counter()
    seen: Counter[tuple[str, ...]] = Counter()
    for example in examples:
        words = tuple(token.text.casefold() for token in tokenize(example.utterance))
        seen.update(
            {
                words[k : k + size]
                for size in range(1, _LONGEST_REFERRING_SPAN + 1)
                for k in range(len(words) - size + 1)
            }
        )
        for edit in supervise_example(example, extra_words).edits:
            if edit.kind == "substitute":
                replaced[words[edit.start : edit.end]] += 1
    spans = {
        span
        for span, count in replaced.items()
        if count >= at_least
        and count >= share * seen[span]
        and len(span) <= _LONGEST_REFERRING_SPAN
    }
    spans |= {tuple(t.text for t in tokenize(pronoun)) for pronoun in PRONOUNS[language]}
    return tuple(" ".join(span) for span in sorted(spans, key=lambda s: (-len(s), s)))
