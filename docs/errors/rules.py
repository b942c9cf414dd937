"""Try rules of decoding on the dialogues that an embedded bundle held out of training.

    QUEEN_DATA=... python docs/errors/rules.py zh

prints how many of the drawn cases each rule mends, and per corpus how many wrong results it mends
and how many right ones it breaks. The network runs once per example; the rules read the same
scores. See docs/errors.md.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np

from queen_sdk import Rewriter
from queen_sdk.bundle import load_bundle
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import load
from queen_sdk.data.splitting import carve
from queen_sdk.decoding import Decoder, Decoding, DecodingSettings, Scores, TokenEdit, decode
from queen_sdk.editing import apply_edits, realise
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.rewriter import Explanation
from queen_sdk.rows import Row
from queen_sdk.values import Token

CORPORA = {
    "zh": ("rewrite", "restoration", "followups-zh"),
    "en": ("task", "canard-untitled", "qrecc", "followups-en"),
}
MOST = 1000
"""Examples of a corpus, the first of the order in which the cases of docs/errors.md were drawn."""
PRONOUNS = frozenset("他 她 它 他们 她们 它们 he him his she her it its they them their".split())
LOOSE = frozenset("of to for with in on at by from the a an and or".split())
"""What a copied piece should not end in."""
JOINING = LOOSE - {"the", "a", "an", "in", "on", "at", "from"}
"""What a piece that replaces a word should not begin with."""

Protected = frozenset[int]


def one_piece(inner: Decoder) -> Decoder:
    """Never join pieces of two turns at one place."""

    def rule(
        s: Scores, r: Sequence[Row], u: Sequence[Token], t: DecodingSettings, p: Protected
    ) -> Decoding:
        return inner(s, r, u, attrs.evolve(t, further_piece=np.inf), p)

    return rule


def relative(inner: Decoder, share: float, below: float) -> Decoder:
    """Where a turn speaks at all, measure its other cells by the strongest one."""

    def rule(
        s: Scores, r: Sequence[Row], u: Sequence[Token], t: DecodingSettings, p: Protected
    ) -> Decoding:
        raised, segments = s.copy(), np.array([row.segment for row in r])
        for k, threshold in enumerate((t.substitute_threshold, t.insert_threshold)):
            for segment in np.unique(segments):
                own = segments == segment
                peak = (s[k, own] - threshold).max(axis=0)
                raised[k, own] += np.where(peak > 0, below - share * peak, 0).astype(np.float32)
        return inner(raised, r, u, t, p)

    return rule


def pronouns(inner: Decoder, lower: float) -> Decoder:
    """Where nothing is edited, ask once more for pronouns, with a lower threshold."""

    def rule(
        s: Scores, r: Sequence[Row], u: Sequence[Token], t: DecodingSettings, p: Protected
    ) -> Decoding:
        found = inner(s, r, u, t, p)
        words = [token.text.lower() for token in u]
        named = [
            k
            for k, word in enumerate(words)
            if {word, "".join(words[k : k + 2]), "".join(words[max(k - 1, 0) : k + 1])} & PRONOUNS
        ]
        if found.edits or not named:
            return found
        only = np.full_like(s, -1e9)
        only[0, :, named] = s[0, :, named]
        easier = attrs.evolve(t, substitute_threshold=t.substitute_threshold - lower)
        return inner(only, r, u, easier, p)

    return rule


def clean_ends(inner: Decoder) -> Decoder:
    """Cut off prepositions and articles that a piece ends in; drop an edit that has no more."""

    def rule(
        s: Scores, r: Sequence[Row], u: Sequence[Token], t: DecodingSettings, p: Protected
    ) -> Decoding:
        found = inner(s, r, u, t, p)
        return attrs.evolve(found, edits=tuple(_cleaned(found.edits, r)))

    return rule


def _cleaned(edits: Sequence[TokenEdit], rows: Sequence[Row]) -> Iterator[TokenEdit]:
    for edit in edits:
        pieces = []
        for piece in edit.pieces:
            words = [rows[k].token.text.lower() for k in range(piece.first, piece.last + 1)]
            first, last = piece.first, piece.last
            if rows[first].turn is not None:
                while words and words[-1] in LOOSE:
                    words, last = words[:-1], last - 1
                while words and edit.kind == "substitute" and words[0] in JOINING:
                    words, first = words[1:], first + 1
            if words:
                pieces.append(attrs.evolve(piece, first=first, last=last))
        if any(rows[piece.first].turn is not None for piece in pieces):
            yield attrs.evolve(edit, pieces=tuple(pieces))


RULES: dict[str, dict[str, Decoder]] = {
    "zh": {
        "one piece": one_piece(decode),
        "pronouns, 1 lower": pronouns(decode, 1.0),
        "by the strongest cell (0.3, 1.5)": relative(decode, 0.3, 1.5),
        "all three": pronouns(relative(one_piece(decode), 0.3, 1.5), 1.0),
    },
    "en": {
        "pronouns, 1 lower": pronouns(decode, 1.0),
        "clean ends": clean_ends(decode),
        "by the strongest cell (0.5, 0.5)": relative(decode, 0.5, 0.5),
        "all three": clean_ends(pronouns(relative(decode, 0.5, 0.5), 1.0)),
    },
}


def _in_drawn_order(examples: Sequence[Example]) -> list[Example]:
    return sorted(examples, key=lambda example: random.Random(f"8.{example.id}").random())


def _result(rule: Decoder, example: Example, seen: Explanation, settings: DecodingSettings) -> str:
    edits = rule(seen.scores, seen.rows, seen.utterance, settings, frozenset()).edits
    turns = {k: turn.text for k, turn in enumerate(example.history)}
    written = realise(example.utterance, seen.utterance, edits, seen.rows, turns)
    return apply_edits(example.utterance, written)


def _drawn(language: str) -> set[str]:
    lines = Path(__file__).with_name(f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["id"] for line in lines}


def main(language: str, say: Callable[[str], object]) -> None:
    """Print the table of one language."""
    bundle = load_bundle(language).manifest
    drawn = _drawn(language)
    mended, broken, of_drawn = Counter[str](), Counter[str](), Counter[str]()
    sizes = Counter[str]()
    with Rewriter(language, threads=1) as rewriter:
        for corpus in CORPORA[language]:
            path = None if corpus.startswith("followups") else os.environ["QUEEN_DATA"]
            held_out = carve(load(corpus, path, "train"), 0.0, 0, bundle.training["held_out"])[1]
            for example in _in_drawn_order(held_out)[:MOST]:
                seen = rewriter.explain(example.history, example.utterance)
                reference = metric_tokens(example.reference, language)
                was_right = metric_tokens(seen.result.text, language) == reference
                sizes[corpus] += 1
                for name, rule in RULES[language].items() if seen.utterance else ():
                    text = _result(rule, example, seen, bundle.decoding)
                    if (metric_tokens(text, language) == reference) != was_right:
                        (broken if was_right else mended)[name + corpus] += 1
                        of_drawn[name] += example.id in drawn
    corpora = CORPORA[language]
    say("| rule | of the 100 | " + " | ".join(f"{c} ({sizes[c]})" for c in corpora) + " |")
    say("|---|---|" + "---|" * len(corpora))
    for name in RULES[language]:
        cells = (f"+{mended[name + c]} −{broken[name + c]}" for c in corpora)
        say(f"| {name} | {of_drawn[name]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1], lambda line: sys.stdout.write(line + "\n"))
