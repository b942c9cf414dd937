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


ROW: Tree = [
    ("他", "PRON", 1, "nsubj"),
    ("来", "VERB", 3, "advcl"),
    ("，", "PUNCT", 1, "punct"),
    ("住", "VERB", None, "root"),
]


class TestChineseTreesThatDiffer:
    def test_a_row_of_clauses_shares_its_subject(self) -> None:
        assert roles_of(words(ROW)) == (0, 3, None)
        own: Tree = [ROW[0], ("来", "VERB", 4, "advcl"), ROW[2], ("我", "PRON", 4, "nsubj")]
        assert roles_of(words([*own, ("住", "VERB", None, "root")])) == (3, 4, None)

    @pytest.mark.parametrize(
        "link",
        [("因为", "ADP", 2, "case"), ("因为", "SCONJ", 2, "mark"), ("时", "PART", 2, "mark")],
    )
    def test_a_subordinate_clause_keeps_its_own(self, link: tuple[str, str, int, str]) -> None:
        tree: Tree = [link, ("他", "PRON", 2, "nsubj"), ("来", "VERB", 3, "advcl"),
                      ("住", "VERB", None, "root")]  # fmt: skip
        assert roles_of(words(tree)) == (None, 3, None)

    @pytest.mark.parametrize("label", ["acl:relcl", "ccomp", "parataxis"])
    def test_clauses_that_are_no_row(self, label: str) -> None:
        tree = [ROW[0], ("来", "VERB", 3, label), *ROW[2:]]
        assert roles_of(words(tree))[0] is None

    def test_other_languages_are_left_alone(self) -> None:
        tree: Tree = [("he", "PRON", 1, "nsubj"), ("came", "VERB", 2, "advcl"),
                      ("go", "VERB", None, "root")]  # fmt: skip
        assert roles_of(words(tree))[0] is None

    @pytest.mark.parametrize("label", ["obl", "nmod", "obl:loc"])
    def test_what_stands_with_a_link_behind_the_verb_is_an_object(self, label: str) -> None:
        tree: Tree = [("他", "PRON", 1, "nsubj"), ("住", "VERB", None, "root"),
                      ("在", "ADP", 3, "case"), ("北京", "PROPN", 1, label)]  # fmt: skip
        assert roles_of(words(tree)) == (0, 1, 3)

    def test_before_the_verb_it_is_none(self) -> None:
        tree: Tree = [("他", "PRON", 3, "nsubj"), ("在", "ADP", 2, "case"),
                      ("北京", "PROPN", 3, "obl"), ("住", "VERB", None, "root")]  # fmt: skip
        assert roles_of(words(tree)) == (0, 3, None)

    def test_with_another_link_it_is_none(self) -> None:
        tree: Tree = [("他", "PRON", 1, "nsubj"), ("住", "VERB", None, "root"),
                      ("了", "AUX", 1, "aux"), ("三", "NUM", 4, "nummod"),
                      ("年", "NOUN", 1, "obl")]  # fmt: skip
        assert roles_of(words(tree)) == (0, 1, None)


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
