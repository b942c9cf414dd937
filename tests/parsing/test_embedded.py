"""The embedded parser with a graph of a few words, and the ones that come with the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_parser import build_parser

from queen_sdk.bundle.files import damaged
from queen_sdk.errors import ClosedError, DamagedBundleError, InvalidArgumentError
from queen_sdk.parsing import EllipsisEnds, Structure, ellipsis_ends
from queen_sdk.parsing.embedded import (
    COMBINATION_ENDS,
    GRAPH_FILE,
    MODELS,
    NOTICE_FILE,
    PARSER_FILES,
    VOCABULARY_FILE,
    EmbeddedParser,
    embedded_parsers,
)
from queen_sdk.values import Token


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_parser(tmp_path_factory.mktemp("parser"))


@pytest.fixture(scope="module")
def parser(directory: Path) -> EmbeddedParser:
    return EmbeddedParser(directory)


class TestParsing:
    @pytest.mark.parametrize(
        ("utterance", "ends"),
        [
            ("No, he does not care", "end"),
            ("Smith must care for pizza", "both"),
            ("pizza", "begin"),
            ("他吃饭", "both"),
            ("", "begin"),
            (" \u200b\ud800", "begin"),
        ],
    )
    def test_the_graph_decides(
        self, parser: EmbeddedParser, utterance: str, ends: EllipsisEnds
    ) -> None:
        assert ellipsis_ends(parser.parse(utterance)) == ends

    def test_tokens_are_given_only_for_what_is_seen(self, parser: EmbeddedParser) -> None:
        found = parser.parse("No, HE does not care")
        assert found.subject_token is not None
        assert (found.subject_token.text, found.subject_token.start) == ("HE", 4)
        assert found.object_token is None

    @given(st.text())
    def test_any_text_is_parsed(self, parser: EmbeddedParser, text: str) -> None:
        found = parser.parse(text)
        pairs = (
            (found.subject, found.subject_token),
            (found.verb, found.verb_token),
            (found.object, found.object_token),
        )
        for seen, token in pairs:
            assert seen == (token is not None)
            assert token is None or text[token.start : token.end] == token.text

    def test_a_long_text_is_parsed_by_its_beginning(self, parser: EmbeddedParser) -> None:
        assert ellipsis_ends(parser.parse("he care " + "so " * 50_000 + "pizza")) == "end"

    def test_a_closed_one_refuses(self, directory: Path) -> None:
        parser = EmbeddedParser(directory)
        parser.close()
        with pytest.raises(ClosedError):
            parser.parse("he")


def test_the_english_one_is_the_one_that_bundles_were_trained_with() -> None:
    """Bundles hold its digest, and its inputs must stay as they were."""
    parser = EmbeddedParser("en")
    assert parser.sha256 == "989b0141212fec10a787a2cfb0b0d6afd65ab3da8aecf9d61c0b473621911f76"
    found = parser.parse("No, he doesn't like films.")
    assert found == Structure(
        True,
        True,
        True,
        subject_token=Token("he", start=4, end=6),
        verb_token=Token("like", start=15, end=19),
        object_token=Token("films", start=20, end=25),
    )


def test_a_chinese_word_is_given_whole() -> None:
    found = EmbeddedParser("zh").parse("我喜欢科幻电影")
    assert found.verb_token == Token("喜欢", start=1, end=3)


class TestFiles:
    def test_another_graph_or_vocabulary_is_another_digest(
        self, directory: Path, tmp_path: Path
    ) -> None:
        copy = Path(shutil.copytree(directory, tmp_path / "copy"))
        parser = EmbeddedParser(copy)
        assert parser.sha256 == EmbeddedParser(directory).sha256
        (copy / VOCABULARY_FILE).write_text("[UNK]\nhim", encoding="utf-8")
        assert parser.sha256 != EmbeddedParser(directory).sha256

    @pytest.mark.parametrize("name", [GRAPH_FILE, VOCABULARY_FILE])
    def test_a_missing_file(self, directory: Path, tmp_path: Path, name: str) -> None:
        copy = Path(shutil.copytree(directory, tmp_path / "copy"))
        (copy / name).unlink()
        with pytest.raises(DamagedBundleError, match=name):
            EmbeddedParser(copy)

    def test_one_of_the_package_is_to_be_installed_again(self) -> None:
        assert "pip install --force-reinstall" in str(damaged(MODELS / "en" / GRAPH_FILE, "odd"))

    def test_one_of_a_bundle_is_to_be_downloaded_again(
        self, directory: Path, tmp_path: Path
    ) -> None:
        copy = Path(shutil.copytree(directory, tmp_path / "copy"))
        (copy / VOCABULARY_FILE).unlink()
        with pytest.raises(DamagedBundleError, match="download the bundle again"):
            EmbeddedParser(copy)

    def test_a_graph_of_something_else(
        self, directory: Path, tiny_bundle_dir: Path, tmp_path: Path
    ) -> None:
        copy = Path(shutil.copytree(directory, tmp_path / "copy"))
        shutil.copy(tiny_bundle_dir / "model.onnx", copy / GRAPH_FILE)
        with pytest.raises(DamagedBundleError, match="expected are inputs and combination, places"):
            EmbeddedParser(copy)

    def test_neither_language_nor_directory(self) -> None:
        with pytest.raises(InvalidArgumentError, match="got 'xx'"):
            EmbeddedParser("xx")


def test_the_eight_combinations() -> None:
    assert COMBINATION_ENDS == ("begin",) * 3 + ("end",) + ("begin",) * 3 + ("both",)


def test_both_languages_have_one() -> None:
    assert embedded_parsers() == ("en", "zh")


@pytest.mark.parametrize("language", ["en", "zh"])
class TestThoseOfThePackage:
    def test_they_are_small(self, language: str) -> None:
        files = [MODELS / language / name for name in PARSER_FILES]
        assert sum(file.stat().st_size for file in files) <= 5e6

    def test_the_notice_names_the_treebanks_and_their_licence(self, language: str) -> None:
        notice = (MODELS / language / NOTICE_FILE).read_text(encoding="utf-8")
        assert "Universal Dependencies" in notice
        assert "CC BY-SA 4.0" in notice


@pytest.mark.parametrize(
    ("language", "utterance", "ends"),
    [
        ("en", "No, he does not care.", "end"),
        ("en", "no he does not care", "end"),
        ("en", "I want a cheap restaurant", "both"),
        ("en", "what is the address?", "end"),
        ("en", "and in July?", "begin"),
        ("en", "Italian food please", "begin"),
        ("zh", "我喜欢科幻电影", "both"),
        ("zh", "他不喜欢这个城市。", "both"),
        ("zh", "为什么喜欢看", "begin"),
        ("zh", "他住在北京", "both"),
        ("zh", "不，他不关心。", "end"),
        ("zh", "后天呢", "begin"),
    ],
)
def test_simple_utterances(language: str, utterance: str, ends: EllipsisEnds) -> None:
    assert ellipsis_ends(EmbeddedParser(language).parse(utterance)) == ends
