"""From `queen train --parser embedded` over `queen export` to a rewriter that refuses another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")
pytest.importorskip("optimum", reason="optimum is not installed")

from queen_sdk import Rewriter
from queen_sdk.bundle import read_manifest, write_manifest
from queen_sdk.cli import main
from queen_sdk.errors import DamagedBundleError, ParserError
from queen_sdk.parsing.embedded import MODELS, NOTICE_FILE, PARSER_FILES, EmbeddedParser
from queen_sdk.parsing.registry import CARRIED

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

HISTORY = ["smith needs to find the cuisine nearby", "does smith like the cuisine"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, encoder_dir: Path, corpus: Path) -> Path:
    folder = tmp_path_factory.mktemp("journey")
    run, out = str(folder / "run"), folder / "bundle"
    data = ("--data", "jsonl", "--path", str(corpus), "--encoder", str(encoder_dir))
    short = ("--limit", "40", "--epochs", "1", "--max-length", "96", "--language", "en")
    assert main(["train", *data, *short, "--parser", "embedded", "--out", run]) == 0
    export = ("export", run, str(out), "--path", str(corpus), "--precision", "float32")
    assert main([*export, "--check-on", "4"]) == 0
    return out


@pytest.fixture
def bundle(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "bundle"))


TREES = """\
1\the\t_\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tcare\t_\tVERB\t_\t_\t0\troot\t_\t_

1\tpizza\t_\tNOUN\t_\t_\t0\troot\t_\t_
"""


def test_a_parser_learns_from_a_teacher(encoder_dir: Path, tmp_path: Path) -> None:
    """`queen parser teach`, `train` and `eval`, one after the other."""
    (tmp_path / "ud" / "en_ewt").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (tmp_path / "ud" / "en_ewt" / f"{part}.conllu").write_text(TREES, encoding="utf-8")
    complete, *shorter = (
        f"transcript_{k}" for k in ("complete", "with_ellipsis", "with_coreference")
    )
    said = {"usr": {complete: "cheap food", **dict.fromkeys(shorter, "")}, "sys": {"sent": "Yes."}}
    (tmp_path / "task").mkdir()
    corpus = tmp_path / "task" / "CamRest676_annotated.json"
    corpus.write_text(json.dumps([{"dialogue_id": 0, "dial": [said, said]}]), encoding="utf-8")
    bank = ("--lang", "en", "--path", str(tmp_path / "ud"))
    common = (*bank, "--encoder", str(encoder_dir), "--epochs", "1")
    teacher, out = str(tmp_path / "teacher"), tmp_path / "out"
    assert main(["parser", "teach", *common, "--out", teacher]) == 0
    learning = ("--teacher", teacher, "--texts", "task", "--out", str(out))
    assert main(["parser", "train", *common, *learning]) == 0
    assert "texts of TASK" in (out / NOTICE_FILE).read_text(encoding="utf-8")
    assert main(["parser", "eval", *bank, "--parser", str(out)]) == 0


def change_manifest(bundle: Path, **parser: str) -> None:
    file = bundle / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    manifest["parser"].update(parser)
    file.write_text(json.dumps(manifest), encoding="utf-8")


def test_the_bundle_carries_the_parser_and_its_checksum(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    assert manifest.parser is not None
    assert (manifest.parser.name, manifest.parser.sha256) == (
        "embedded:en",
        EmbeddedParser("en").sha256,
    )
    assert {f"{CARRIED}/{name}" for name in PARSER_FILES} <= manifest.files.keys()
    for name in PARSER_FILES:
        assert (bundle / CARRIED / name).read_bytes() == (MODELS / "en" / name).read_bytes()


def test_it_serves_with_that_parser(bundle: Path) -> None:
    with Rewriter(bundle) as rewriter:
        assert rewriter.explain(HISTORY, "smith does not care").query[-1] == "[ELLIP]"
        assert rewriter.explain(HISTORY, "smith does not care").query[0] == "smith"


@pytest.mark.parametrize("name", PARSER_FILES)
def test_a_missing_file_of_the_parser(bundle: Path, name: str) -> None:
    (bundle / CARRIED / name).unlink()
    with pytest.raises(DamagedBundleError, match=f"{name}: the file is missing"):
        Rewriter(bundle)


def test_an_altered_parser(bundle: Path) -> None:
    with (bundle / CARRIED / "vocabulary.txt").open("a", encoding="utf-8") as file:
        file.write("\nsmuggled")
    with pytest.raises(DamagedBundleError, match=r"vocabulary\.txt: was altered"):
        Rewriter(bundle)


def test_a_parser_that_was_exchanged_with_its_digests(bundle: Path) -> None:
    with (bundle / CARRIED / "vocabulary.txt").open("a", encoding="utf-8") as file:
        file.write("\nsmuggled")
    write_manifest(bundle, read_manifest(bundle))
    with pytest.raises(ParserError, match="another version of the parser 'embedded:en'"):
        Rewriter(bundle)


def test_another_version(bundle: Path) -> None:
    change_manifest(bundle, sha256="0" * 64)
    with pytest.raises(ParserError, match="install that version, or train again"):
        Rewriter(bundle)


def test_no_such_parser(bundle: Path) -> None:
    shutil.rmtree(bundle / CARRIED)
    manifest = read_manifest(bundle)
    write_manifest(bundle, manifest)
    change_manifest(bundle, name="embedded:xx")
    with pytest.raises(ParserError, match="needs the parser 'embedded:xx'"):
        Rewriter(bundle)
