"""Parsers by name: what a manifest asks for is what serving gets, or an error."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from tiny_parser import build_parser

from queen_sdk import Rewriter
from queen_sdk.bundle import ParserSpec, read_manifest, write_manifest
from queen_sdk.errors import DamagedBundleError, InvalidArgumentError, ParserError
from queen_sdk.parsing import ellipsis_ends
from queen_sdk.parsing.registry import CARRIED, load_parser, open_parser


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the tiny parser stand for the English one of the package."""
    build_parser(tmp_path / "models" / "en")
    monkeypatch.setattr("queen_sdk.parsing.embedded.MODELS", tmp_path / "models")
    return tmp_path / "models"


@pytest.fixture
def bundle(models: Path, altered_bundle: Callable[..., Path]) -> Path:
    """Return a bundle that carries the tiny parser."""
    _, spec = open_parser("embedded", "en")
    directory = altered_bundle()
    shutil.copytree(models / "en", directory / CARRIED)
    write_manifest(directory, attrs.evolve(read_manifest(directory), parser=spec))
    return directory


class TestOpening:
    def test_embedded_means_that_of_the_language(self, models: Path) -> None:
        parser, spec = open_parser("embedded", "en")
        assert spec == ParserSpec("embedded:en", sha256=parser.sha256)

    @pytest.mark.parametrize("name", ["", "en", "embedded:", "stanza:en", "embedded:xx"])
    def test_unknown_names(self, models: Path, name: str) -> None:
        with pytest.raises(InvalidArgumentError, match=r"embedded|spacy"):
            open_parser(name, "en")

    def test_no_parser_of_that_language(self, models: Path) -> None:
        with pytest.raises(InvalidArgumentError, match="embedded parsers are: en; got 'fr'"):
            open_parser("embedded", "fr")


class TestLoading:
    def test_the_bundle_s_own_parser_goes_first(self, bundle: Path, models: Path) -> None:
        shutil.rmtree(models / "en")
        spec = read_manifest(bundle).parser
        assert spec is not None
        assert ellipsis_ends(load_parser(spec, bundle).parse("he must care")) == "end"

    def test_without_one_that_of_the_package_serves(self, bundle: Path) -> None:
        shutil.rmtree(bundle / CARRIED)
        spec = read_manifest(bundle).parser
        assert spec is not None
        assert ellipsis_ends(load_parser(spec, bundle).parse("he must care")) == "end"

    def test_another_version_is_refused(self, bundle: Path) -> None:
        with pytest.raises(ParserError, match="another version of the parser 'embedded:en'"):
            load_parser(ParserSpec("embedded:en", sha256="0" * 64), bundle)

    @pytest.mark.parametrize("name", ["embedded:xx", "stanza:en"])
    def test_a_parser_that_is_not_there(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ParserError, match=f"needs the parser '{name}'"):
            load_parser(ParserSpec(name, sha256="0" * 64), tmp_path)


class TestRewriting:
    HISTORY = ("Smith eats.", "Is Anna here?")

    def query(self, directory: Path, utterance: str) -> tuple[str, ...]:
        with Rewriter(directory, providers=["cpu"], threads=1) as rewriter:
            return rewriter.explain(list(self.HISTORY), utterance).query

    @pytest.mark.parametrize(
        ("utterance", "items"),
        [
            ("Smith does care", ("Smith", "does", "care", "[ELLIP]")),
            ("pizza", ("[ELLIP]", "pizza")),
            ("he does care", ("[COREF]", "does", "care")),
        ],
    )
    def test_the_query_follows_the_parser(
        self, bundle: Path, utterance: str, items: tuple[str, ...]
    ) -> None:
        assert self.query(bundle, utterance) == items

    def test_without_a_parser_both_ends_are_marked(self, tiny_bundle_dir: Path) -> None:
        items = ("[ELLIP]", "Smith", "does", "care", "[ELLIP]")
        assert self.query(tiny_bundle_dir, "Smith does care") == items

    def test_a_spoilt_parser_is_found_at_load(self, bundle: Path) -> None:
        (bundle / CARRIED / "vocabulary.txt").write_text("[UNK]", encoding="utf-8")
        with pytest.raises(DamagedBundleError, match=r"vocabulary\.txt: was altered"):
            Rewriter(bundle)
