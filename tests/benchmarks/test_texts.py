from collections.abc import Sequence

import pytest
from measuring.texts import evaluation_examples, lengthened, made_up


def texts(turns: Sequence[object]) -> list[str]:
    return [turn.text for turn in turns]  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("turns", [1, 2, 8, 32])
def test_a_lengthened_history_ends_with_the_dialogue_itself(language: str, turns: int) -> None:
    history = made_up(language)[1].history
    longer = lengthened(history, turns, language)
    assert len(longer) == turns
    assert texts(longer[-2:]) == texts(history)[-turns:]


def test_made_up_dialogues_have_ids_of_their_own() -> None:
    assert len({example.id for example in made_up("zh", 12)}) == 12


def test_made_up_dialogues_stand_in_for_corpora_and_say_so() -> None:
    examples, about = evaluation_examples("en", None, 3)
    assert len(examples) == 3
    assert "made-up" in about
