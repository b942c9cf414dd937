"""The card of a bundle: facts from its manifest, and behind them what people wrote.

The facts stand between two marks and are made anew whenever the manifest is. All else in the file
belongs to whoever publishes the bundle, and is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from queen_sdk.bundle.files import MODEL_FILES
from queen_sdk.bundle.free_form import figure, origins, part
from queen_sdk.bundle.manifest import Manifest
from queen_sdk.tabular import number, table

_BEGIN = "<!-- begin facts -->"
_END = "<!-- end facts -->"
_BLOCK = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
_NOT_STATED = "not stated"
_DIGITS = 2
"""As many as a manifest keeps: to round again would give other figures than `queen eval` does."""
_TO_FILL_IN = """\
## Known failures
To be filled in by whoever publishes this bundle: kinds of dialogue that it gets wrong, each with an
example and its confidence. To find them:
`queen eval --bundle PATH --data CORPUS --part held-out --wrong F.jsonl` writes wrong results with
their causes. Quote only what the licence of the corpus lets you spread.

## What it must not be used for
Anything in which a wrong rewrite does harm unseen. Keep the user's own words beside the rewrite:
they are always in the result. To be filled in: the languages, domains and decisions that this
bundle was not made for.
"""


def card_text(manifest: Manifest, before: str | None = None) -> str:
    """Return the card of a bundle; of the card that it had `before`, all but the facts is kept."""
    block = f"{_BEGIN}\n{_facts(manifest)}\n{_END}"
    rest = _TO_FILL_IN if before is None else before
    if _BLOCK.search(rest):
        return _BLOCK.sub(lambda _: block, rest, count=1)
    return f"{block}\n\n{rest}"


def _facts(manifest: Manifest) -> str:
    parts = [
        f"# {_plain(manifest.name)} {_plain(manifest.version)}",
        "<!-- Made from manifest.json; what you write between the two marks is lost. -->",
        "\n".join(_description(manifest)),
        "## How it was chosen",
        "\n".join(_choice(manifest)),
        "## Checks of the export",
        _export_checks(part(manifest.scores, "export")),
        "## Figures",
        *_figures(part(manifest.scores, "evaluation")),
    ]
    return "\n\n".join(parts)


def _description(manifest: Manifest) -> Iterator[str]:
    training = manifest.training
    formats = [precision for precision, file in MODEL_FILES.items() if file in manifest.files]
    yield f"- languages: {_listed(manifest.languages)}"
    yield f"- number formats: {_listed(formats, _NOT_STATED)}"
    yield f"- encoder: {_encoder(training.get('encoder'))}"
    if init := part(training, "init"):
        yield f"- went on from the bundle {_plain(init.get('name'))} {_plain(init.get('version'))}"
    data = origins(training.get("data"))
    yield f"- trained on:{'' if data else f' {_NOT_STATED}'}"
    yield from (f"  - {_plain(text)}" for text in data)
    yield f"- parser of the ellipsis part: {_parser(manifest)}"
    yield f"- query template: {_template(manifest)}"
    yield f"- looks at: {_window(manifest)}"
    yield f"- words it may add that nobody said: {_extra_words(manifest)}"
    yield f"- referring expressions it knows by heart: {len(manifest.collection)}"
    decoding = manifest.decoding
    yield (
        f"- thresholds: {decoding.substitute_threshold:g} to substitute, "
        f"{decoding.insert_threshold:g} to insert; a span may reach over cells "
        f"{decoding.span_slack:g} below, raised by {decoding.span_share:g} of what its best cell "
        f"has above; a second piece must beat its threshold by {decoding.further_piece:g}"
    )
    if decoding.ends_share:
        yield f"- where the model sees the ends of a span counts {decoding.ends_share:g} times"
    if decoding.history_rise:
        yield (
            f"- thresholds rise with the words of the history, from 32 to 64 by "
            f"{decoding.history_rise:g} in all"
        )


def _encoder(entry: object) -> str:
    folder = entry.get("directory") if isinstance(entry, Mapping) else None
    told = _listed(origins(entry), _NOT_STATED)
    return f"{told}, from the folder `{_plain(folder)}`" if folder else told


def _parser(manifest: Manifest) -> str:
    if manifest.parser is None:
        return "none, both ends are marked"
    return f"{_plain(manifest.parser.name)} (sha256 {_plain(manifest.parser.sha256)})"


def _template(manifest: Manifest) -> str:
    template = manifest.template
    if not template.query:
        return "none"
    kinds = {"coreference": template.coreference, "ellipsis": template.ellipsis}
    parts = " and ".join(name for name, there in kinds.items() if there) or "neither"
    return f"{parts} part, {'with' if template.marks else 'without'} punctuation"


def _window(manifest: Manifest) -> str:
    text = f"the newest turns, {manifest.max_length} word pieces with the utterance and its query"
    opening = manifest.template.opening
    return f"{text}; a first turn of up to {opening} stays in view" if opening else text


def _extra_words(manifest: Manifest) -> str:
    words = manifest.extra_words
    sides = (("before what is copied", words.before), ("behind it", words.after))
    return "; ".join(f"{_quoted(side)} {name}" for name, side in sides if side) or "none"


def _choice(manifest: Manifest) -> Iterator[str]:
    training, selection = manifest.training, part(manifest.scores, "selection")
    yield f"- protocol: {_plain(training.get('protocol') or _NOT_STATED)}"
    held_out = [
        f"{_plain(corpus)} {len(ids.split())}"
        for corpus, ids in part(training, "held_out").items()
        if isinstance(ids, str)
    ]
    if held_out:
        yield f"- dialogues held out: {', '.join(held_out)}"
    names = {
        "exact_match": "exact match",
        "incomplete_exact_match": "of incomplete turns",
        "untouched": "complete turns left untouched",
    }
    measured = [
        f"{title} {number(value, _DIGITS)} %"
        for name, title in names.items()
        if (value := figure(selection, name)) is not None
    ]
    if measured:
        yield f"- measured there, before the export: {', '.join(measured)}"


def _export_checks(checks: Mapping[str, Any]) -> str:
    rows = [
        [_plain(name), _figure(found, "exact_match"), _difference(found)]
        for name, found in checks.items()
        if isinstance(found, Mapping)
    ]
    if not rows:
        return f"{_NOT_STATED.capitalize()}."
    count = figure(checks, "examples")
    told = "" if count is None else f" {count:,.0f}"
    head = [f"on{told} examples not trained on", "exact match", "farthest score from torch's"]
    return table(head, rows)


def _difference(found: Mapping[str, Any]) -> str:
    value = figure(found, "max_difference")
    return "-" if value is None else f"{value:.2g}"


def _figures(evaluation: Mapping[str, Any]) -> Iterator[str]:
    if not evaluation:
        yield "None yet: `queen eval --bundle PATH --data CORPUS --record` writes them here."
        return
    columns = {
        "exact_match": "exact match",
        "incomplete_exact_match": "of incomplete turns",
        "bleu_4": "BLEU-4",
        "rouge_l": "ROUGE-L",
        "untouched_complete": "complete turns untouched",
        "untouched_references": "references untouched",
        "calibration_error": "calibration error",
    }
    yield (
        "Percentages on the evaluation parts, by `queen eval --data CORPUS`; references are given "
        "back as\nutterances, to see whether they come back as they are."
    )
    rows = [
        [_plain(corpus), _count(found), *(_figure(found, name) for name in columns)]
        for corpus, found in evaluation.items()
    ]
    yield table(["corpus", "examples", *columns.values()], rows)
    minima = [row for corpus, found in evaluation.items() for row in _minima(corpus, found)]
    if minima:
        yield "With `min_confidence`, below which an utterance is passed on as it came:"
        told = ("coverage", "exact match of those", "exact match of all")
        yield table(["corpus", "min_confidence", *told], minima)


def _minima(corpus: str, found: object) -> Iterator[list[str]]:
    names = ("coverage", "exact_match_covered", "exact_match")
    for minimum, figures in part(found, "at_min_confidence").items():
        cells = (_figure(figures, name) for name in names)
        yield [_plain(corpus), _plain(minimum), *cells]


def _figure(found: object, name: str) -> str:
    return number(figure(found, name), _DIGITS)


def _count(found: object) -> str:
    value = figure(found, "examples")
    return "-" if value is None else f"{value:,.0f}"


def _listed(items: Sequence[str], otherwise: str = "") -> str:
    return ", ".join(map(_plain, items)) or otherwise


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"`{_plain(word)}`" for word in words)


def _plain(value: object) -> str:
    """Return free-form text on one line, without what could be a mark or the end of a cell."""
    return " ".join(str(value).split()).replace("<", "&lt;").replace("|", "\\|")
