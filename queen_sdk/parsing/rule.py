"""From a dependency tree to subject, verb and object of its root clause.

One rule for treebanks, spaCy and LTP, on the labels of Universal Dependencies; older and foreign
labels are mapped to those first. Looked at are the root and the words that hang on it:

- subject: `nsubj` or `csubj`, passive and outer ones too, or the expletive `expl`;
- verb: the root, if it is a verb or an auxiliary, or a Chinese adjective, which needs no copula;
  else a copula or an auxiliary that hangs on it;
- object: `obj`, `iobj`, and the clauses that stand for one, `ccomp` and `xcomp`.

What a copula links to its subject is no object: in "what is the address" the part left out stands
at the end. Treebanks and parsers disagree on whether 是 and 为 are copulas or verbs with an object;
they count as copulas wherever they stand. Oblique phrases are no objects either.

Chinese trees differ, within one treebank even, on two more things that say the same either way:

- A row of clauses shares its subject, which hangs on the last of them, the root, or on an earlier
  one (他到了北京，住了三年): it counts for the root too, unless that clause is subordinate.
- What follows 于, 在, 到, 为 or 成 right behind the verb (位于北京) is an object of both together,
  or an oblique phrase: it counts as an object.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from queen_sdk.parsing.base import Structure
from queen_sdk.values import Token

_UD2 = {
    "dobj": "obj",
    "dative": "iobj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "neg": "advmod",
    "foreign": "flat",
    "name": "flat",
    "mwe": "fixed",
}
_SUBJECTS = frozenset({"nsubj", "csubj", "expl"})
_OBJECTS = frozenset({"obj", "iobj", "ccomp", "xcomp"})
_CARRIERS = ("cop", "aux")
_VERBS = frozenset({"VERB", "AUX"})
_CHINESE_COPULA = "是"
_LITERARY_COPULAS = ("为", "為")
_FIRST_WIDE = "\u2e80"
_ROW = frozenset({"acl", "advcl"})
_OBLIQUE = frozenset({"nmod", "obl"})
_BEHIND_VERBS = frozenset("于於在到为為成")
_SUBORDINATING = frozenset(
    "如果 若 要是 假如 因为 由于 虽然 虽 尽管 即使 就算 只要 除非 当 自从 为了 时 后 前 "
    "之后 之前 以后 以前 以来 的话 因為 由於 雖然 雖 儘管 當 自從 為了 時 後 之後 以後 以來 "
    "的話".split()
)


@attrs.frozen
class Word:
    """One word of a dependency tree."""

    text: str
    pos: str = attrs.field(kw_only=True)
    """Universal part of speech, such as VERB."""
    head: int | None = attrs.field(kw_only=True)
    """Index of the word it hangs on; None for the root."""
    label: str = attrs.field(kw_only=True)
    """What it is to that word."""
    start: int = attrs.field(default=0, kw_only=True)
    """Offset in the utterance."""

    @property
    def token(self) -> Token:
        """The word with its place."""
        return Token(self.text, start=self.start, end=self.start + len(self.text))


def universal_label(label: str) -> str:
    """Return the second edition's name of a label of the first, or of spaCy's English ones."""
    return _UD2.get(label, label)


def structure_of(words: Sequence[Word], root: int | None = None) -> Structure:
    """Apply the rule to a tree, or to the part of it that hangs on `root`.

    Without words, or without a root, nothing is there.
    """
    roles = roles_of(words, root)
    return Structure.shown_by(*(None if k is None else words[k].token for k in roles))


def roles_of(
    words: Sequence[Word], root: int | None = None
) -> tuple[int | None, int | None, int | None]:
    """Return which words show the subject, the verb and the object; None for what is missing."""
    if root is None:
        root = next((k for k, word in enumerate(words) if word.head is None), None)
    if root is None:
        return None, None, None
    labels = [(k, _family(word.label)) for k, word in enumerate(words) if word.head == root]
    subject = next((k for k, label in labels if label in _SUBJECTS), None)
    if subject is None:
        subject = _shared_subject(words, root)
    carriers = (k for carrier in _CARRIERS for k, label in labels if label == carrier)
    verb = root if _is_verb(words[root]) else next(carriers, None)
    found = next((k for k, label in labels if label in _OBJECTS), None)
    if found is None:
        found = _behind_verb(words, root)
    return subject, verb, None if is_copula(words[root]) else found


def _shared_subject(words: Sequence[Word], root: int) -> int | None:
    """Return the subject of a Chinese clause before the root that is not subordinate to it."""
    if max(words[root].text, default="") < _FIRST_WIDE:
        return None
    for k, clause in enumerate(words[:root]):
        if clause.head == root and clause.label in _ROW:
            below = [(j, word) for j, word in enumerate(words) if word.head == k]
            if any(w.label == "case" or w.text in _SUBORDINATING for _, w in below):
                continue
            subject = next((j for j, word in below if _family(word.label) in _SUBJECTS), None)
            if subject is not None:
                return subject
    return None


def _behind_verb(words: Sequence[Word], root: int) -> int | None:
    """Return the head of an oblique phrase with 于 or the like, right behind the verb."""
    if not _is_verb(words[root]) or root + 1 >= len(words):
        return None
    link = words[root + 1]
    if link.text not in _BEHIND_VERBS or link.head is None or link.label != "case":
        return None
    phrase = words[link.head]
    found = phrase.head == root and _family(phrase.label) in _OBLIQUE
    return link.head if found else None


def _family(label: str) -> str:
    return universal_label(label.lower()).split(":", 1)[0]


def _is_verb(word: Word) -> bool:
    stative = word.pos == "ADJ" and not word.text.isascii()
    return word.pos in _VERBS or stative


def is_copula(word: Word) -> bool:
    """Tell whether a word is a verb that only links, in Chinese."""
    chinese = word.text.endswith(_CHINESE_COPULA) or word.text in _LITERARY_COPULAS
    return chinese and word.pos in _VERBS
