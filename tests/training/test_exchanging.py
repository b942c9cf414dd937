from pathlib import Path

import attrs
import pytest

pytestmark = pytest.mark.train
pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.pipeline import Pipeline  # noqa: E402
from queen_sdk.rows import ExtraWords  # noqa: E402
from queen_sdk.training.exchanging import exchanged  # noqa: E402
from queen_sdk.training.preparation import build_pipeline, prepare  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402
from queen_sdk.training.vocabulary import Vocabulary  # noqa: E402
from queen_sdk.values import Turn  # noqa: E402

SETTINGS = TrainSettings(data=("task",), language="en", encoder="x", exchange_share=1.0)


@pytest.fixture
def pipeline(encoder_dir: Path) -> Pipeline:
    return build_pipeline(
        encoder_dir / "tokenizer.json", SETTINGS, Vocabulary(ExtraWords(("of",)), ())
    )


def about(name: str, corpus: str = "task") -> Example:
    return Example(
        (Turn(f"{name} is here, {name}!"), Turn(f"The {name}s like {name}")),
        utterance="does he like it",
        reference=f"does {name} like it",
        id=f"{corpus}:{name}.1",
    )


def test_other_words_stand_wherever_what_is_copied_stood(pipeline: Pipeline) -> None:
    examples = prepare([about("Smith"), about("Anna")], pipeline)
    seen = {e.example for seed in range(9) for e in exchanged(examples, seeded(seed), pipeline)}
    assert seen == {
        about("Smith"),
        about("Anna"),
        Example(
            (Turn("Anna is here, Anna!"), Turn("The Smiths like Anna")),
            utterance="does he like it",
            reference="does Anna like it",
            id="task:Smith.1",
        ),
        Example(
            (Turn("Smith is here, Smith!"), Turn("The Annas like Smith")),
            utterance="does he like it",
            reference="does Smith like it",
            id="task:Anna.1",
        ),
    }


def test_what_was_said_with_other_words_has_the_cells_of_its_new_words(pipeline: Pipeline) -> None:
    longer = attrs.evolve(about("Smith"), history=(Turn("oh well, Smith is here"),))
    for example in exchanged(prepare([longer, about("Anna")], pipeline), SETTINGS, pipeline):
        rows = example.features.rows
        copied = {rows[cells.rows[0]].token.text for cells in example.positive}
        assert copied & set(example.example.reference.split())


def test_corpora_keep_their_own_words(pipeline: Pipeline) -> None:
    examples = prepare([about("Smith"), about("Anna", "qrecc")], pipeline)
    for seed in range(9):
        said = [e.example.reference for e in exchanged(examples, seeded(seed), pipeline)]
        assert said == ["does Smith like it", "does Anna like it"]


def test_complete_utterances_and_a_share_of_nought_change_nothing(pipeline: Pipeline) -> None:
    complete = attrs.evolve(about("Smith"), utterance="does Smith like it")
    examples = prepare([complete, about("Anna"), about("Bob")], pipeline)
    assert exchanged(examples, attrs.evolve(SETTINGS, exchange_share=0.0), pipeline) == examples
    assert exchanged(examples, SETTINGS, pipeline)[0] is examples[0]


def test_a_dialogue_that_grows_out_of_view_stays(pipeline: Pipeline) -> None:
    def naming(name: str, rest: str) -> Example:
        return Example(
            (Turn(f"{name} is here {rest}"),),
            utterance="does he like it",
            reference=f"does {name} like it",
            id="task:1.1",
        )

    short = naming("the weather is nearby", " ".join(["what"] * 190))
    long = naming(" ".join(["the"] * 120), "")
    examples = prepare([short, long], pipeline)
    assert [e.rebuildable for e in examples] == [True, True]
    for seed in range(9):
        assert exchanged(examples, seeded(seed), pipeline)[0].example == short


def seeded(seed: int) -> TrainSettings:
    return attrs.evolve(SETTINGS, seed=seed)
