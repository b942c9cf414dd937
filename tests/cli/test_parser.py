"""`queen parser`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_parser import build_parser

Queen = Callable[..., Any]

TREES = """\
1\tHe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tcare\t_\tVERB\t_\t_\t0\troot\t_\t_

1\tpizza\t_\tNOUN\t_\t_\t0\troot\t_\t_

1\tHe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tcare\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tpizza\t_\tNOUN\t_\t_\t2\tobj\t_\t_
"""


@pytest.fixture
def treebanks(tmp_path: Path) -> Path:
    folder = tmp_path / "ud" / "en_ewt"
    folder.mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (folder / f"{part}.conllu").write_text(TREES, encoding="utf-8")
    return tmp_path / "ud"


@pytest.fixture
def parser(tmp_path: Path) -> Path:
    return build_parser(tmp_path / "parser")


def test_eval_prints_the_tables(queen: Queen, treebanks: Path, parser: Path) -> None:
    code, out, _ = queen("parser", "eval", "--lang", "en", "--path", treebanks, "--parser", parser)
    assert code == 0
    assert "| as it is | 1.000 | 1.000 | 0.333 | 0.167 |" in out
    assert "| begin | 1 | 0 | 0 | 1.000 |" in out


def test_eval_writes_json(queen: Queen, treebanks: Path, parser: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    arguments = ("--lang", "en", "--path", treebanks.parent, "--parser", parser)
    assert queen("parser", "eval", *arguments, "--json", file)[0] == 0
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert (figures["accuracy"], figures["macro_f1"], figures["sentences"]) == (1.0, 1.0, 3)
    code, out, _ = queen("parser", "eval", *arguments, "--json", "-")
    assert (code, json.loads(out)["confusion"]) == (0, figures["confusion"])


@pytest.mark.parametrize(
    "arguments",
    [("parser",), ("parser", "eval"), ("parser", "eval", "--lang", "fr"), ("parser", "bake")],
)
def test_misuse(queen: Queen, arguments: tuple[str, ...]) -> None:
    assert queen(*arguments)[0] == 2


def test_no_treebank_there(queen: Queen, tmp_path: Path, parser: Path) -> None:
    arguments = ("--lang", "en", "--path", tmp_path, "--parser", parser)
    code, _, err = queen("parser", "eval", *arguments)
    assert (code, "no such treebank" in err) == (1, True)


@pytest.mark.train
@pytest.mark.filterwarnings("ignore")
def test_train_writes_a_parser(queen: Queen, treebanks: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("optimum", reason="optimum is not installed")
    out = tmp_path / "out"
    arguments = ("--lang", "en", "--path", treebanks, "--epochs", "1", "--out", out)
    code, said, _ = queen("parser", "train", *arguments)
    assert (code, "macro-F1" in said) == (0, True)
    assert queen("parser", "eval", "--lang", "en", "--path", treebanks, "--parser", out)[0] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--teacher", "x"), "--teacher and --texts need each other"),
        (("--texts", "task"), "--teacher and --texts need each other"),
        (("--teacher", "x", "--texts", "task"), "--teacher needs --encoder"),
        (("--encoder", "nowhere"), "--encoder must be a directory"),
        (("--seeds", "0"), "--seeds"),
    ],
)
def test_options_that_do_not_go_together(
    queen: Queen, treebanks: Path, options: tuple[str, ...], said: str
) -> None:
    call = ("parser", "train", "--lang", "en", "--path", treebanks, "--out", "x", *options)
    code, _, err = queen(*call)
    assert (code, said in err) == (2, True)


def test_a_spacy_pipeline_is_the_yardstick(
    queen: Queen, treebanks: Path, parser: Path, tmp_path: Path
) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add([[{}]], {"POS": "VERB", "DEP": "ROOT"})
    nlp.to_disk(tmp_path / "pipeline")
    options = ("--parser", parser, "--spacy", tmp_path / "pipeline")
    call = ("parser", "eval", "--lang", "en", "--path", treebanks, *options)
    assert f"| spacy:{tmp_path / 'pipeline'} | 0.333 |" in queen(*call).out
    figures = json.loads(queen(*call, "--json", "-").out)
    assert (figures["accuracy"], figures["yardstick"]["accuracy"]) == (1.0, 0.3333)
    assert figures["yardstick"]["size_mb"] is not None


@pytest.mark.data
@pytest.mark.parametrize(
    ("language", "least_f1"),
    [("en", 0.85), ("zh", 0.75)],
)
def test_the_parsers_of_the_package_on_the_test_parts(
    queen: Queen, language: str, least_f1: float
) -> None:
    if "QUEEN_DATA" not in os.environ:
        pytest.skip("QUEEN_DATA does not point to the corpora")
    code, out, _ = queen("parser", "eval", "--lang", language, "--json", "-")
    figures = json.loads(out)
    assert code == 0
    assert figures["macro_f1"] >= least_f1
    assert 1 - figures["accuracy"] <= (1 - figures["majority_accuracy"]) / 2
    assert figures["size_mb"] <= 5
