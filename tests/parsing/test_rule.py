"""Subject, verb and object of hand-made trees."""

from __future__ import annotations

import pytest

from queen_sdk.parsing import EllipsisEnds, ellipsis_ends
from queen_sdk.parsing.rule import Word, roles_of, structure_of, universal_label

Tree = list[tuple[str, str, int | None, str]]


def words(tree: Tree) -> list[Word]:
    return [
        Word(text, pos=pos, head=head, label=label, start=10 * k)
        for k, (text, pos, head, label) in enumerate(tree)
    ]


CARE: Tree = [
    ("No", "INTJ", 4, "discourse"),
    ("he", "PRON", 4, "nsubj"),
    ("does", "AUX", 4, "aux"),
    ("not", "PART", 4, "advmod"),
    ("care", "VERB", None, "root"),
]
ADDRESS: Tree = [
    ("What", "PRON", None, "root"),
    ("is", "AUX", 0, "cop"),
    ("the", "DET", 3, "det"),
    ("address", "NOUN", 0, "nsubj"),
]
EATS: Tree = [("I", "PRON", 1, "nsubj"), ("eat", "VERB", None, "root"), ("it", "PRON", 1, "obj")]


@pytest.mark.parametrize(
    ("tree", "ends"),
    [
        (CARE, "end"),
        (ADDRESS, "end"),
        (EATS, "both"),
        ([("eat", "VERB", None, "root"), ("it", "PRON", 0, "obj")], "begin"),
        ([("Italian", "ADJ", None, "root"), ("food", "NOUN", 0, "nsubj")], "begin"),
        ([("Italian", "ADJ", None, "root")], "begin"),
        ([("我", "PRON", 1, "nsubj"), ("高兴", "ADJ", None, "root")], "end"),
        ([("他", "PRON", 1, "nsubj"), ("是", "VERB", None, "root"), ("谁", "X", 1, "obj")], "end"),
        ([("他", "PRON", 1, "nsubj"), ("认为", "VERB", None, "root"), ("是", "VERB", 1, "ccomp")],
         "both"),
        ([("She", "PRON", 1, "nsubj"), ("thinks", "VERB", None, "ROOT"), ("so", "ADV", 1, "advmod"),
          ("he", "PRON", 4, "nsubj"), ("left", "VERB", 1, "ccomp")], "both"),
        ([], "begin"),
    ],
)  # fmt: skip
def test_the_root_clause_decides(tree: Tree, ends: EllipsisEnds) -> None:
    assert ellipsis_ends(structure_of(words(tree))) == ends


@pytest.mark.parametrize(
    "label", ["nsubj", "nsubj:pass", "nsubjpass", "csubj", "csubjpass", "expl"]
)
def test_subjects_of_every_kind_count(label: str) -> None:
    assert structure_of(words([("x", "X", 1, label), ("is", "AUX", None, "root")])).subject


@pytest.mark.parametrize("label", ["obj", "dobj", "iobj", "dative", "ccomp", "xcomp", "OBJ"])
def test_objects_of_every_kind_count(label: str) -> None:
    assert structure_of(words([("do", "VERB", None, "root"), ("x", "X", 0, label)])).object


@pytest.mark.parametrize("label", ["obl", "nmod", "advmod", "attr", "conj", "parataxis"])
def test_other_dependents_do_not(label: str) -> None:
    assert not structure_of(words([("do", "VERB", None, "root"), ("x", "X", 0, label)])).object


def test_what_does_not_hang_on_the_root_does_not_count() -> None:
    tree = words([*EATS, ("who", "PRON", 4, "nsubj"), ("cooks", "VERB", 2, "acl:relcl")])
    assert roles_of(tree) == (0, 1, 2)
    assert roles_of(tree, root=4) == (3, 4, None)


def test_the_tokens_that_show_it() -> None:
    found = structure_of(words(CARE))
    assert found.subject_token is not None
    assert found.verb_token is not None
    assert (found.subject_token.text, found.subject_token.start) == ("he", 10)
    assert (found.verb_token.start, found.verb_token.end) == (40, 44)
    assert found.object_token is None


def test_the_copula_shows_the_verb() -> None:
    token = structure_of(words(ADDRESS)).verb_token
    assert token is not None
    assert token.text == "is"


def test_labels_of_the_first_edition() -> None:
    assert universal_label("nsubjpass") == "nsubj:pass"
    assert universal_label("acl:relcl") == "acl:relcl"
