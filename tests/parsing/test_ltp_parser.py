"""LTP: hand-made parses for the labels, and a tiny model with random weights for the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.errors import ParserError
from queen_sdk.parsing import ellipsis_ends
from queen_sdk.parsing.ltp_parser import LtpParser, ltp_words
from queen_sdk.parsing.rule import structure_of

SIGNS = tuple("他她我你是不关心喜欢看电影苹果吃请来医生高兴，。")


@pytest.mark.parametrize(
    ("words", "parts_of_speech", "heads", "labels", "ends"),
    [
        ("我 吃 苹果", "r v n", (2, 0, 2), "SBV HED VOB", "both"),
        ("他 不 关心", "r d v", (3, 3, 0), "SBV ADV HED", "end"),
        ("喜欢 看 电影", "v v n", (0, 1, 2), "HED VOB VOB", "begin"),
        ("苹果 我 吃", "n r v", (3, 3, 0), "FOB SBV HED", "both"),
        ("我 请 他 来", "r v r v", (2, 0, 2, 2), "SBV HED DBL VOB", "both"),
        ("他 是 医生", "r v n", (2, 0, 2), "SBV HED VOB", "end"),
        ("他 高兴", "r a", (2, 0), "SBV HED", "end"),
        ("医生", "n", (0,), "HED", "begin"),
    ],
)
def test_labels_become_the_rule_s(
    words: str, parts_of_speech: str, heads: Sequence[int], labels: str, ends: str
) -> None:
    texts = words.split()
    tree = ltp_words("".join(texts), texts, parts_of_speech.split(), heads, labels.split())
    assert ellipsis_ends(structure_of(tree)) == ends


def test_words_have_the_place_they_have_in_the_utterance() -> None:
    utterance = "我 吃 苹果"
    tree = ltp_words(
        utterance, ["我", "吃", "苹果"], ["r", "v", "n"], [2, 0, 2], ["SBV", "HED", "VOB"]
    )
    assert [utterance[w.token.start : w.token.end] for w in tree] == ["我", "吃", "苹果"]


def _component(name: str, **arguments: Any) -> dict[str, Any]:
    return {"_ltp_target_": name, **arguments}


@pytest.fixture(scope="module")
def ltp_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a model with random weights."""
    pytest.importorskip("ltp", reason="LTP is not installed")
    import torch
    from ltp_core.models.utils import instantiate
    from transformers import BertConfig, BertTokenizerFast

    directory = tmp_path_factory.mktemp("ltp")
    (directory / "vocab.txt").write_text(
        "\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *SIGNS)), encoding="utf-8"
    )
    BertTokenizerFast(str(directory / "vocab.txt")).save_pretrained(directory)
    backbone = BertConfig(
        vocab_size=len(SIGNS) + 5, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=512,
    ).to_dict()  # fmt: skip
    vocabularies = {
        "cws": ["I-W", "B-W"],
        "pos": ["n", "v", "r", "a"],
        "dep": ["HED", "SBV", "VOB", "ADV"],
    }
    models = "ltp_core.models"
    tokens = f"{models}.components.token.MLPTokenClassifier"
    graph = f"{models}.components.graph.BiaffineClassifier"
    config = {
        "nerual": True,
        "model": _component(
            f"{models}.ltp_model.LTPModule",
            backbone=_component(
                "transformers.AutoModel.from_config",
                config=_component("transformers.BertConfig.from_dict", config_dict=backbone),
            ),
            processor={
                "cws": _component(f"{models}.processor.TokenOnly"),
                "pos": _component(f"{models}.processor.WordsOnly"),
                "dep": _component(f"{models}.processor.WordsWithHead"),
            },
            heads={
                "cws": _component(tokens, input_size=16, num_labels=2),
                "pos": _component(tokens, input_size=16, num_labels=4),
                "dep": _component(graph, input_size=16, num_labels=4, arc_hidden_size=8,
                                  rel_hidden_size=8),
            },
        ),
        "vocabs": vocabularies,
    }  # fmt: skip
    (directory / "config.json").write_text(json.dumps({**backbone, **config}), encoding="utf-8")
    torch.manual_seed(0)
    torch.save(instantiate(config["model"]).state_dict(), directory / "pytorch_model.bin")
    return directory


@pytest.mark.filterwarnings("ignore")
def test_a_real_model_parses(ltp_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = LtpParser(ltp_directory)
    utterance = "他不关心，我喜欢看电影。"
    found = parser.parse(utterance)
    assert parser.parse(utterance) == found
    for token in (found.subject_token, found.verb_token, found.object_token):
        assert token is None or utterance[token.start : token.end] == token.text
    assert ellipsis_ends(parser.parse(" ")) == "begin"
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore")
def test_another_file_is_another_digest(ltp_directory: Path) -> None:
    parser = LtpParser(ltp_directory)
    before = parser.sha256
    (ltp_directory / "extra").write_text("x")
    after = parser.sha256
    (ltp_directory / "extra").unlink()
    assert (after == before, parser.sha256 == before) == (False, True)


@pytest.mark.filterwarnings("ignore")
def test_a_directory_that_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip("ltp", reason="LTP is not installed")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ParserError, match="LTP cannot load it"):
        LtpParser(tmp_path)
