import math

import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.training.loss import (  # noqa: E402
    circle_loss,
    ends_lesson_loss,
    ends_loss,
    lesson_loss,
)

NAN = float("nan")


def as_masks(scores, positive, valid):
    return torch.tensor(scores), torch.tensor(positive), torch.tensor(valid)


def test_the_loss_is_the_formula_of_the_paper() -> None:
    scores, positive, valid = as_masks(
        [[[[1.0, -2.0]], [[0.5, 3.0]]]],
        [[[[True, False]], [[False, False]]]],
        [[[[True, True]], [[True, True]]]],
    )
    substitute = math.log(1 + math.exp(-1.0)) + math.log(1 + math.exp(-2.0))
    insert = math.log(1) + math.log(1 + math.exp(0.5) + math.exp(3.0))
    assert circle_loss(scores, positive, valid).item() == pytest.approx((substitute + insert) / 2)


def test_cells_outside_the_valid_rectangle_count_for_nothing() -> None:
    scores, positive, valid = as_masks(
        [[[[1.0, 50.0]], [[0.0, 50.0]]]],
        [[[[True, True]], [[False, False]]]],
        [[[[True, False]], [[True, False]]]],
    )
    expected = (math.log(1 + math.exp(-1.0)) + math.log(2)) / 2
    assert circle_loss(scores, positive, valid).item() == pytest.approx(expected)


def test_no_valid_cell_gives_no_loss_and_no_nan_gradient() -> None:
    scores = torch.zeros(1, 2, 2, 2, requires_grad=True)
    nothing = torch.zeros(1, 2, 2, 2, dtype=torch.bool)
    loss = circle_loss(scores, nothing, nothing)
    loss.backward()
    assert loss.item() == 0.0
    assert torch.equal(scores.grad, torch.zeros_like(scores))


class TestEnds:
    """Where what is copied begins and ends."""

    def planes(self, *columns):
        return torch.tensor([[list(zip(*columns, strict=True))] * 2])

    def test_it_is_the_surprise_at_the_right_rows(self) -> None:
        planes = self.planes((0.0, 1.0, 2.0), (5.0, 5.0, 5.0))
        wanted = self.planes((True, False, False), (False, False, False))
        valid = self.planes((True, True, False), (True, True, True))
        expected = math.log(1 + math.e)  # the second column copies nothing
        assert ends_loss(planes, wanted, valid).item() == pytest.approx(expected)

    def test_any_of_several_right_rows_will_do(self) -> None:
        planes = self.planes((3.0, -9.0, 3.0))
        wanted, valid = self.planes((True, False, True)), self.planes((True, True, True))
        assert ends_loss(planes, wanted, valid).item() == pytest.approx(0, abs=1e-5)

    def test_nothing_copied_gives_no_loss_and_no_nan_gradient(self) -> None:
        planes = self.planes((1.0, 2.0)).requires_grad_()
        nothing = self.planes((False, False))
        loss = ends_loss(planes, nothing, nothing)
        loss.backward()
        assert loss.item() == 0.0
        assert torch.equal(planes.grad, torch.zeros_like(planes))


class TestLessons:
    """How far a pupil is from its teacher."""

    def test_a_pupil_that_scores_alike_is_not_far(self) -> None:
        scores = torch.tensor([[[[1.0, -2.0, 9.0]], [[0.5, 3.0, -1.0]]]])
        lessons = scores.clone()
        lessons[0, 0, 0, 2] = NAN  # END cannot be replaced
        assert lesson_loss(scores, lessons).item() == pytest.approx(0, abs=1e-6)

    def test_it_is_the_divergence_of_softened_shares(self) -> None:
        scores = torch.zeros(1, 2, 1, 3)
        lessons = torch.full_like(scores, NAN)
        lessons[0, 1, 0, 0] = 2.0  # one cell of one of two operations
        share = 1 / (1 + math.exp(-1.0))
        divergence = share * math.log(share / 0.5) + (1 - share) * math.log((1 - share) / 0.5)
        assert lesson_loss(scores, lessons).item() == pytest.approx(divergence * 4 / 2)

    def test_it_draws_the_pupil_to_the_teacher(self) -> None:
        scores = torch.zeros(1, 2, 1, 3, requires_grad=True)
        lessons = torch.tensor([[[[3.0, -3.0, NAN]], [[NAN, 1.0, 0.0]]]])
        lesson_loss(scores, lessons).backward()
        assert torch.sign(-scores.grad).tolist() == [[[[1, -1, 0]], [[0, 1, 0]]]]


class TestLessonsOfEnds:
    """How far a pupil is from where its teacher begins and ends what is copied."""

    def test_a_pupil_that_sees_them_alike_is_not_far(self) -> None:
        lessons = torch.tensor([[[[1.0], [3.0]], [[0.0], [-2.0]]]])
        loss = ends_lesson_loss(lessons + 5.0, lessons, torch.tensor([[True]]))
        assert loss.item() == pytest.approx(0, abs=1e-6)

    def test_it_is_the_divergence_of_the_shares_of_the_rows(self) -> None:
        lessons = torch.log(torch.tensor([[[[3.0], [1.0], [NAN]], [[1.0], [1.0], [NAN]]]]))
        loss = ends_lesson_loss(torch.zeros_like(lessons), lessons, torch.tensor([[True]]))
        divergence = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
        assert loss.item() == pytest.approx(divergence / 2)  # begin is off, end is not

    def test_places_where_nothing_is_copied_and_unknown_ones_count_nothing(self) -> None:
        planes = torch.zeros(1, 2, 2, 2, requires_grad=True)
        lessons = torch.tensor([[[[4.0, NAN], [0.0, NAN]]] * 2])
        loss = ends_lesson_loss(planes, lessons, torch.tensor([[False, True]]))
        loss.backward()
        assert loss.item() == 0.0
        assert torch.equal(planes.grad, torch.zeros_like(planes))
