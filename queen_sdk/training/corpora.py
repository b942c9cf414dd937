"""Which examples of a corpus are trained on."""

from __future__ import annotations

from collections.abc import Sequence

from queen_sdk.data.corpus import CorpusPath
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import CORPORA, load, read_canard_untitled, read_task
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.training.preparation import carve
from queen_sdk.training.settings import TrainSettings


def training_examples(names: Sequence[str], path: CorpusPath) -> list[Example]:
    """Read the training parts of several corpora, with everything that helps training.

    TASK gives all incomplete versions of a turn; the untitled CANARD dialogues get a stand-in for
    their title.
    """
    examples: list[Example] = []
    for name in names:
        if name == "task":
            examples += CORPORA[name].select(read_task(path, variants="all"), "train")
        elif name == "canard-untitled":
            examples += read_canard_untitled(path, title_from_rewrites=True)
        else:
            examples += load(name, path, part="train")
    return examples


def split_examples(
    settings: TrainSettings, path: CorpusPath
) -> tuple[list[Example], list[Example]]:
    """Return the examples to train on and those to select on, the same ones for every call.

    Raises:
        InvalidArgumentError: There are none of either kind, or a corpus has no evaluation part.
    """
    examples = training_examples(settings.data, path)[: settings.limit]
    if settings.select_on == "eval":
        held_out = [e for name in settings.data for e in _evaluation_part(name, path)]
        return examples, held_out
    training, held_out = carve(examples, settings.held_out, settings.seed)
    if not training or not held_out:
        raise InvalidArgumentError(
            f"held_out must leave examples on both sides, got {settings.held_out} "
            f"of {len(examples)} examples"
        )
    return training, held_out


def _evaluation_part(name: str, path: CorpusPath) -> list[Example]:
    if CORPORA[name].evaluation == CORPORA[name].train:
        raise InvalidArgumentError(f"{name} has no evaluation part; select on train-split")
    return load(name, path, "eval")
