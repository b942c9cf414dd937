"""CoNLL-U files of hand-made trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from queen_sdk.data.treebanks import TREEBANKS, read_conllu, read_treebanks
from queen_sdk.errors import DataError, InvalidArgumentError

ENGLISH = """\
# sent_id = 1
1\tHe\the\tPRON\t_\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t4\taux\t_\t_
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\t_\t_\t4\tneg\t_\t_
4\tcare\tcare\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_

1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
"""
SIDE_BY_SIDE = """\
1\t他\t_\tPRON\t_\t_\t5\tnsubj\t_\t_
2\t去\t_\tVERB\t_\t_\t5\tdep\t_\t_
3\t,\t_\tPUNCT\t_\t_\t5\tpunct\t_\t_
4\t我\t_\tPRON\t_\t_\t5\tnsubj\t_\t_
5\t來\t_\tVERB\t_\t_\t0\troot\t_\t_
6\tA\t_\tX\t_\t_\t7\tname\t_\t_
7\tB\t_\tX\t_\t_\t5\tdobj\t_\t_
"""


def written(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_text_words_and_heads(tmp_path: Path) -> None:
    first, second = read_conllu(written(tmp_path / "x.conllu", ENGLISH))
    assert (first.text, second.text) == ("He don't care.", "Yes")
    assert [first.text[w.token.start : w.token.end] for w in first.words] == [
        "He", "do", "n't", "care", ".",
    ]  # fmt: skip
    assert [word.head for word in first.words] == [3, 3, 3, None, 3]
    assert first.words[2].label == "advmod"


def test_clauses_side_by_side_hang_on_the_first(tmp_path: Path) -> None:
    (sentence,) = read_conllu(written(tmp_path / "x.conllu", SIDE_BY_SIDE))
    assert sentence.text == "他去,我來A B"
    assert [(word.head, word.label) for word in sentence.words] == [
        (1, "nsubj"),
        (None, "root"),
        (4, "punct"),
        (4, "nsubj"),
        (1, "parataxis"),
        (6, "flat"),
        (4, "obj"),
    ]


def test_traditional_files_are_read_simplified(tmp_path: Path) -> None:
    pytest.importorskip("opencc", reason="OpenCC is not installed")
    for bank in TREEBANKS["zh"]:
        written(tmp_path / bank.files["train"], SIDE_BY_SIDE)
    texts = [sentence.text for sentence in read_treebanks("zh", tmp_path, "train")]
    assert len(texts) == len(TREEBANKS["zh"])
    assert texts[0] == "他去,我来A B"


@pytest.mark.parametrize(
    "content", ["1\tx", "1\tx\tx\tX\t_\t_\t9\troot\t_\t_", "1\tx\t\t\t\t\t-\t\t\t"]
)
def test_other_formats(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=r"x\.conllu:1: not CoNLL-U"):
        list(read_conllu(written(tmp_path / "x.conllu", content)))


def test_missing_file_and_unknown_language(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such treebank"):
        read_treebanks("en", tmp_path, "dev")
    with pytest.raises(InvalidArgumentError, match="one of en, zh, got 'fr'"):
        read_treebanks("fr", tmp_path, "dev")
