import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.training.averaging import MeanWeights  # noqa: E402


def network(value: float):
    made = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(made.weight, value)
    return made


def moved(model, mean, values) -> float:
    for value in values:
        torch.nn.init.constant_(model.weight, value)
        mean.add(model)
    return float(mean.model.weight)


def test_the_mean_follows_the_weights_slowly() -> None:
    model = network(0.0)
    mean = MeanWeights(model, 0.99)
    assert 0.0 < moved(model, mean, [0.0] * 2000 + [1.0] * 10) < 0.2
    assert moved(model, mean, [1.0] * 1000) == pytest.approx(1.0, abs=1e-3)
    assert not mean.model.weight.requires_grad


def test_the_first_steps_are_soon_forgotten() -> None:
    model = network(50.0)
    assert moved(model, MeanWeights(model, 0.999), [1.0] * 60) == pytest.approx(1.0, abs=0.05)


def test_nothing_kept_means_the_last_weights() -> None:
    model = network(0.0)
    assert moved(model, MeanWeights(model, 0.0), [3.0, 7.0]) == 7.0


def test_weights_that_do_not_learn_stay() -> None:
    model = network(2.0)
    model.weight.requires_grad_(False)
    assert moved(model, MeanWeights(model, 0.5), [9.0]) == 2.0


def test_a_checkpoint_goes_on_as_if_there_had_been_none() -> None:
    model = network(0.0)
    mean = MeanWeights(model, 0.9)
    moved(model, mean, [1.0] * 30)
    restored = MeanWeights(network(5.0), 0.9)
    restored.load_state_dict(mean.state_dict())
    assert moved(model, restored, [4.0] * 5) == moved(model, mean, [4.0] * 5)
