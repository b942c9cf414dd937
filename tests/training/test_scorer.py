import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.errors import InvalidArgumentError  # noqa: E402
from queen_sdk.training.scorer import QueenConfig, QueenScorer, rotation_tables  # noqa: E402


def small_scorer() -> QueenScorer:
    torch.manual_seed(0)
    return QueenScorer(
        QueenConfig(
            projection_size=16,
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
        )
    ).eval()


def inputs(rows: int = 1):
    ids = torch.arange(5, 25).repeat(rows, 1)
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
        "history_index": torch.tensor([[2, 4, 7]]).repeat(rows, 1),
        "utterance_index": torch.tensor([[12, 14]]).repeat(rows, 1),
    }


def test_scores_are_a_rectangle_per_operation_and_end() -> None:
    assert small_scorer()(**inputs(rows=3)).shape == (3, 4, 3, 2)


def test_a_score_is_the_rotated_dot_product_of_one_shared_projection() -> None:
    model = small_scorer()
    given = inputs()
    hidden = model.bert(
        **{k: v for k, v in given.items() if not k.endswith("index")}
    ).last_hidden_state[0]
    cosines, sines = rotation_tables(64, 16)

    def rotated(place: int, plane: int) -> torch.Tensor:
        head = (model.projection, model.ends)[plane // 2]
        vector = head(hidden[place]).reshape(2, 16)[plane % 2]
        even, odd = vector[:8], vector[8:]
        return torch.cat(
            (
                even * cosines[place] - odd * sines[place],
                odd * cosines[place] + even * sines[place],
            )
        )

    scores = model(**given)[0]
    for plane in range(4):
        for i, row in enumerate((2, 4, 7)):
            for j, column in enumerate((12, 14)):
                expected = rotated(row, plane) @ rotated(column, plane) / 4.0
                assert scores[plane, i, j].item() == pytest.approx(expected.item(), abs=1e-5)


def test_a_rotation_makes_dot_products_depend_on_distance_only() -> None:
    cosines, sines = rotation_tables(40, 8)
    torch.manual_seed(0)
    left, right = torch.randn(8), torch.randn(8)

    def turned(vector: torch.Tensor, place: int) -> torch.Tensor:
        even, odd = vector[:4], vector[4:]
        return torch.cat(
            (
                even * cosines[place] - odd * sines[place],
                odd * cosines[place] + even * sines[place],
            )
        )

    near = turned(left, 3) @ turned(right, 10)
    far = turned(left, 23) @ turned(right, 30)
    assert near.item() == pytest.approx(far.item(), abs=1e-5)


def test_frozen_layers_keep_their_weights_and_those_of_the_embeddings() -> None:
    model = small_scorer()
    model.freeze(1)
    learning = {name.split(".")[0] for name, p in model.named_parameters() if p.requires_grad}
    assert learning == {"projection", "ends"}


def test_without_frozen_layers_everything_learns() -> None:
    model = small_scorer()
    model.freeze(0)
    assert all(p.requires_grad for p in model.parameters())


def test_more_layers_than_there_are_cannot_be_frozen() -> None:
    with pytest.raises(InvalidArgumentError, match=r"from 0 to 1, .* got 2"):
        small_scorer().freeze(2)
