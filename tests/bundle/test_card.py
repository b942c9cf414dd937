"""The card of a bundle."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from queen_sdk.bundle import Manifest, ParserSpec
from queen_sdk.bundle.card import card_text
from queen_sdk.decoding import DecodingSettings
from queen_sdk.rows import ExtraWords
from queen_sdk.template import TemplateSettings

FIGURES = {
    "examples": 2000,
    "exact_match": 61.55,
    "incomplete_exact_match": 58.25,
    "bleu_4": 80.5,
    "rouge_l": 91.4,
    "untouched_complete": None,
    "untouched_references": 99.25,
    "calibration_error": 2.58,
    "at_min_confidence": {
        "0.5": {"coverage": 80.0, "exact_match_covered": 70.0, "exact_match": 60.0},
        "0.9": {"coverage": 0.0, "exact_match_covered": None, "exact_match": 10.0},
    },
}
MANIFEST = Manifest(
    name="mine",
    version="7",
    languages=("zh", "en"),
    max_length=128,
    decoding=DecodingSettings(
        substitute_threshold=1.0, insert_threshold=0.5, ends_share=2.0, history_rise=0.5
    ),
    extra_words=ExtraWords(("的", "和"), ("'s",)),
    collection=("he", "she"),
    parser=ParserSpec("embedded:zh", sha256="ab12"),
    training={
        "encoder": {"name": "small BERT", "licence": "MIT", "directory": "small"},
        "data": [{"name": "TASK", "licence": "MIT"}, {"name": "own", "licence": "secret"}],
        "protocol": "chosen on held-out dialogues",
        "held_out": {"task": "1 2 30"},
    },
    scores={
        "selection": {"exact_match": 77.2, "untouched": 96.7},
        "export": {
            "examples": 589,
            "torch": {"exact_match": 59.76},
            "int8": {"exact_match": 59.08, "max_difference": 1.4628},
        },
        "evaluation": {"rewrite": FIGURES},
    },
    files={"model.int8.onnx": "0", "tokenizer.json": "0"},
)


def cells(text: str) -> list[list[str]]:
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def changed(**fields: Any) -> str:
    return card_text(attrs.evolve(MANIFEST, **fields))


class TestFacts:
    @pytest.mark.parametrize(
        "line",
        [
            "# mine 7",
            "- languages: zh, en",
            "- number formats: int8",
            "- encoder: small BERT (licence: MIT), from the folder `small`",
            "  - TASK (licence: MIT)",
            "  - own (licence: secret)",
            "- parser of the ellipsis part: embedded:zh (sha256 ab12)",
            "- query template: coreference and ellipsis part, with punctuation",
            "- looks at: the newest turns, 128 word pieces with the utterance and its query",
            "- words it may add that nobody said: `的`, `和` before what is copied; `'s` behind it",
            "- referring expressions it knows by heart: 2",
            "- thresholds: 1 to substitute, 0.5 to insert; a span may reach over cells 0.25 below, "
            "raised by 0 of what its best cell has above; a second piece must beat its threshold "
            "by 3",
            "- where the model sees the ends of a span counts 2 times",
            "- thresholds rise with the words of the history, from 32 to 64 by 0.5 in all",
            "- protocol: chosen on held-out dialogues",
            "- dialogues held out: task 3",
            "- measured there, before the export: exact match 77.20 %, "
            "complete turns left untouched 96.70 %",
        ],
    )
    def test_the_manifest_is_told_in_words(self, line: str) -> None:
        assert line in card_text(MANIFEST).splitlines()

    def test_every_corpus_has_its_figures(self) -> None:
        rows = cells(card_text(MANIFEST))
        row = ["rewrite", "2,000", "61.55", "58.25", "80.50", "91.40", "-", "99.25", "2.58"]
        assert row in rows
        assert ["rewrite", "0.5", "80.00", "70.00", "60.00"] in rows
        assert ["rewrite", "0.9", "0.00", "-", "10.00"] in rows

    def test_the_export_is_compared_with_torch(self) -> None:
        rows = cells(card_text(MANIFEST))
        assert rows[0][0] == "on 589 examples not trained on"
        assert ["torch", "59.76", "-"] in rows
        assert ["int8", "59.08", "1.5"] in rows

    def test_what_was_left_out_of_the_template_is_told(self) -> None:
        alone = TemplateSettings(coreference=False, marks=False, opening=24)
        text = changed(template=alone, parser=None, extra_words=ExtraWords())
        assert "- query template: ellipsis part, without punctuation" in text
        assert "; a first turn of up to 24 stays in view" in text
        assert "- parser of the ellipsis part: none, both ends are marked" in text
        assert "- words it may add that nobody said: none" in text
        assert "- query template: none" in changed(template=TemplateSettings(query=False))

    def test_a_fine_tuned_bundle_names_the_one_before(self) -> None:
        text = changed(training={"init": {"name": "zh", "version": "0.3"}})
        assert "- went on from the bundle zh 0.3\n" in text

    @pytest.mark.parametrize("free", [{}, {"evaluation": "good", "export": 3, "selection": None}])
    def test_free_form_is_read_with_care(self, free: dict[str, Any]) -> None:
        text = changed(scores=free, training={"data": "mine", "held_out": {"x": 3}})
        assert "- encoder: not stated" in text
        assert "  - mine\n" in text
        assert "## Checks of the export\n\nNot stated." in text
        assert "None yet: `queen eval" in text
        assert cells(text) == []

    def test_old_figures_without_minima_have_no_table_of_them(self) -> None:
        figures = {k: v for k, v in FIGURES.items() if k != "at_min_confidence"}
        assert "min_confidence" not in changed(scores={"evaluation": {"rewrite": figures}})


class TestWhatPeopleWrote:
    def test_a_new_card_says_what_to_fill_in(self) -> None:
        text = card_text(MANIFEST)
        assert text.index("<!-- end facts -->") < text.index("## Known failures")
        assert text.count("filled in") == 2
        assert "## What it must not be used for" in text

    def test_it_is_kept_and_the_facts_are_new(self) -> None:
        own = "\n\n## Known failures\nIt drops \\1 and \\g<0>.\n"
        head = "A line above.\n"
        before = head + card_text(MANIFEST).partition("\n\n## Known")[0] + own
        after = card_text(attrs.evolve(MANIFEST, version="8"), before)
        assert after == before.replace("# mine 7", "# mine 8")
        assert after.startswith(head)
        assert after.endswith(own)

    def test_the_same_manifest_gives_the_same_card(self) -> None:
        text = card_text(MANIFEST)
        assert card_text(MANIFEST, text) == text

    @pytest.mark.parametrize("before", ["", "My own card.\n", "<!-- begin facts -->\nno end\n"])
    def test_a_card_without_facts_gets_them_in_front(self, before: str) -> None:
        text = card_text(MANIFEST, before)
        assert text.startswith("<!-- begin facts -->\n# mine 7\n")
        assert text.endswith(f"<!-- end facts -->\n\n{before}")
        assert card_text(MANIFEST, text) == text

    def test_no_name_can_end_the_facts_or_a_cell(self) -> None:
        evil = "a\n<!-- end facts -->|b"
        manifest = attrs.evolve(MANIFEST, name=evil, scores={"evaluation": {evil: FIGURES}})
        text = card_text(manifest)
        assert text.count("<!-- end facts -->") == 1
        assert "# a &lt;!-- end facts -->\\|b 7\n" in text
        assert card_text(manifest, text) == text
