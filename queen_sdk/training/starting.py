"""What a run starts from: a pretrained encoder, a bundle, or the best epoch of another run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import Dropout
from transformers import AutoConfig, AutoTokenizer

from queen_sdk.bundle import Bundle, load_bundle
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import CORPORA
from queen_sdk.data.splitting import HeldOut, dialogues_of
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.parsing.registry import load_parser, open_parser
from queen_sdk.template import COREF, ELLIP
from queen_sdk.training.provenance import CORPUS_ORIGINS, encoder_origin
from queen_sdk.training.scorer import QueenConfig, QueenScorer
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.thawing import thaw
from queen_sdk.training.vocabulary import Vocabulary, load_vocabulary

HELD_OUT_FILE = "held_out.json"


@attrs.frozen(eq=False)
class Start:
    """A network before its first step."""

    model: QueenScorer
    tokenizer: Tokenizer
    vocabulary: Vocabulary | None
    """What it was trained with; None if it was not."""
    origin: Mapping[str, Any]
    """The encoder and the data behind it, as bundles tell them."""


def start(settings: TrainSettings) -> Start:
    """Open what the settings name.

    Raises:
        InvalidArgumentError: It is neither a bundle nor a run with a finished epoch.
    """
    if settings.init is None:
        return _from_encoder(settings)
    run = _run_directory(settings.init)
    found = _from_bundle(load_bundle(settings.init)) if run is None else _from_run(run)
    if settings.mean_with is not None:
        average_with(found.model, [settings.mean_with])
    config = found.model.config
    for module in found.model.modules():
        if isinstance(module, Dropout):
            module.p = settings.dropout
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = settings.dropout
    return found


def inherited_settings(init: str, language: str) -> dict[str, Any]:
    """Return the settings that a model must keep when its training goes on: its template.

    Raises:
        InvalidArgumentError: It is of another language, or it has another parser than is installed.
    """
    run = _run_directory(init)
    if run is not None:
        before = TrainSettings.load(run / "settings.json")
        names = ("marks", "parser", "max_length", "opening", "ablate")
        kept = {name: getattr(before, name) for name in names}
        _same_language(init, language, (before.language,))
        return kept
    bundle = load_bundle(init)
    manifest = bundle.manifest
    _same_language(init, language, manifest.languages)
    if manifest.parser is not None:
        load_parser(manifest.parser, bundle.directory)
        if open_parser(manifest.parser.name, language)[1] != manifest.parser:
            raise InvalidArgumentError(
                f"{init} was trained with another version of the parser {manifest.parser.name!r}; "
                "install the release that it came with"
            )
    return {
        "marks": manifest.template.marks,
        "parser": manifest.parser and manifest.parser.name,
        "max_length": manifest.max_length,
        "opening": manifest.template.opening,
        "ablate": manifest.training.get("ablation", "none"),
    }


def held_out_before(init: str) -> HeldOut:
    """Return the dialogues of public corpora that a bundle or run was not trained on."""
    run = _run_directory(init)
    if run is None:
        return dict(load_bundle(init).manifest.training.get("held_out", {}))
    return held_out_of(run)


def held_out_of(run: Path) -> HeldOut:
    """Return what a run holds out; nothing if an older release started it."""
    file = run / HELD_OUT_FILE
    found: dict[str, str] = {}
    if file.exists():
        found = json.loads(file.read_text(encoding="utf-8"))
    return found


def note_held_out(run: Path, held_out: Sequence[Example]) -> None:
    """Keep in a run what it holds out of the public corpora: your own files may change."""
    public = {name for name, corpus in CORPORA.items() if corpus.file or corpus.generated}
    named = {name: ids for name, ids in dialogues_of(held_out).items() if name in public}
    text = json.dumps(named, ensure_ascii=False)
    (run / HELD_OUT_FILE).write_text(text + "\n", encoding="utf-8")


def _same_language(init: str, language: str, known: tuple[str, ...]) -> None:
    if language not in known:
        raise InvalidArgumentError(
            f"{init} was trained for {', '.join(known)}, the data are in {language}"
        )


def _run_directory(init: str) -> Path | None:
    path = Path(init)
    return path if (path / "best" / "selected.json").exists() else None


def average_with(model: QueenScorer, others: Sequence[str]) -> None:
    """Make the weights the mean of a model's own and those of runs or bundles, all counting alike.

    Raises:
        InvalidArgumentError: One has another network.
        UnknownBundleError: One is neither.
    """
    mean = model.state_dict()
    for number, other in enumerate(others, 2):
        theirs = _weights_of(other)
        if {k: v.shape for k, v in mean.items()} != {k: v.shape for k, v in theirs.items()}:
            raise InvalidArgumentError(
                f"a mean is made of networks alike, and {other} has another network"
            )
        mean = {
            k: v + (theirs[k] - v) / number if v.is_floating_point() else v for k, v in mean.items()
        }
    model.load_state_dict(mean)


def _weights_of(other: str) -> Mapping[str, Tensor]:
    run = _run_directory(other)
    if run is None:
        bundle = load_bundle(other)
        return thaw(bundle.model_path(bundle.precisions[-1])).state_dict()
    return QueenScorer.from_pretrained(run / "best").state_dict()


def _from_encoder(settings: TrainSettings) -> Start:
    encoder = str(settings.encoder)
    base = AutoConfig.from_pretrained(encoder).to_dict()
    base.pop("model_type", None)
    base.update(hidden_dropout_prob=settings.dropout, attention_probs_dropout_prob=settings.dropout)
    model = QueenScorer.from_pretrained(encoder, config=QueenConfig(**base))
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    if not settings.template.shared_marker:
        tokenizer.add_special_tokens({"additional_special_tokens": [COREF, ELLIP]})
        model.resize_token_embeddings(len(tokenizer))
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    return Start(model, backend, None, _encoder_alone(encoder))


def _from_bundle(bundle: Bundle) -> Start:
    manifest = bundle.manifest
    model = thaw(bundle.model_path(bundle.precisions[-1]))  # the fullest that it has
    origin = {
        "init": {"name": manifest.name, "version": manifest.version},
        "encoder": manifest.training.get("encoder", {}),
        "data": list(manifest.training.get("data", ())),
    }
    vocabulary = Vocabulary(manifest.extra_words, manifest.collection)
    return Start(model, Tokenizer.from_file(str(bundle.tokenizer_path)), vocabulary, origin)


def _from_run(run: Path) -> Start:
    model = QueenScorer.from_pretrained(run / "best")
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    return Start(model, tokenizer, load_vocabulary(run), origin_of(run))


def origin_of(run: Path) -> Mapping[str, Any]:
    """Return the encoder and all data of a run, those of what it started from included."""
    file = run / "origin.json"
    settings = TrainSettings.load(run / "settings.json")
    if file.exists():
        origin = json.loads(file.read_text(encoding="utf-8"))
    else:  # a run of an older release
        origin = _encoder_alone(str(settings.encoder))
    own = [attrs.asdict(CORPUS_ORIGINS[corpus]) for corpus in settings.data]
    origin["data"] += [entry for entry in own if entry not in origin["data"]]
    return origin


def _encoder_alone(encoder: str) -> dict[str, Any]:
    name = Path(encoder).name
    return {"encoder": {"directory": name, **attrs.asdict(encoder_origin(name))}, "data": []}
